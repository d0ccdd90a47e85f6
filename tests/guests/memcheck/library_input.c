/* getline, getdelim, asprintf, fmemopen and sscanf: what they write is defined, what they allocate is lost here.
 * @options: --leak-check=full */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char text[] = "one\ntwo;three\n", *line = 0, *made = 0;
    size_t room = 0;
    FILE *file = fmemopen(text, sizeof text - 1, "r");
    volatile int sum = 0;
    for (ssize_t n; (n = getline(&line, &room, file)) > 0;)
        if (line[n - 1] == '\n' && line[0])
            sum++;
    rewind(file);
    char *other = 0;
    size_t size = 0;
    getdelim(&other, &size, ';', file);
    if (other[3] == '\n' && strlen(other) == 8)
        sum++;
    if (other[9]) /* behind the string, in the buffer */
        sum++;
    fclose(file);
    asprintf(&made, "%d-%s", 42, text);
    if (made[0] == '4')
        sum++;
    made = 0; /* lost */
    int a, b;
    char word[8];
    sscanf("12 abc", "%d %7s", &a, word);
    if (a == 12 && word[0] == 'a')
        sum++;
    if (b) /* not converted */
        sum++;
    if (word[5]) /* behind the word */
        sum++;
    free(line);
    free(other);
    other[0] = 1;
    return 0;
}

/* getline into a block that grows; the old pointer is stale.  @options: --leak-check=full */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char text[400], *line = malloc(8), *old = line;
    size_t room = 8;
    memset(text, 'a', sizeof text);
    FILE *f = fmemopen(text, sizeof text, "r");
    volatile int sum = getline(&line, &room, f) == 400;
    sum += old[0];
    sum += line[399] + line[room];
    fclose(f);
    return 0;
}

/* A program with known memory errors, for `interpose --tool=memcheck`:
 *   an uninitialised value that decides a branch,
 *   a write one byte past the end of a heap block, and a read there,
 *   a read from a block that was freed,
 *   a block freed twice,
 *   and one block of 100 bytes that is definitely lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *make_greeting(const char *name) {
    char *text = malloc(strlen(name) + 7);
    strcpy(text, "Hello, ");
    strcat(text, name); /* needs one byte more for the end */
    return text;
}

static int count_undecided(void) {
    int *flags = malloc(4 * sizeof *flags);
    flags[0] = 1;
    int n = 0;
    for (int i = 0; i < 2; i++)
        if (flags[i]) /* flags[1] was never set */
            n++;
    free(flags);
    return n;
}

static void lose(void) {
    char *volatile lost = malloc(100);
    lost[0] = 0;
    lost = NULL;
}

int main(void) {
    char *greeting = make_greeting("world");
    printf("%s\n", greeting);
    count_undecided();
    char *volatile copy = greeting;
    free(greeting);
    printf("first letter was %c\n", copy[0]);
    free(copy);
    lose();
    return 0;
}

/* String functions that run over the end of a block. */
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *p = malloc(6), *q = malloc(6);
    memcpy(p, "abcdef", 6);
    memcpy(q, "abcdef", 6);
    volatile long sink = 0;
    sink += (long)strlen(p);
    sink += strcmp(p, q);
    sink += strncmp(p, q, 9);
    sink += (long)strchr(p, 'z');
    sink += (long)strrchr(p, 'z');
    sink += memcmp(p, q, 8);
    sink += (long)memchr(p, 'z', 7);
    sink += (long)strnlen(p, 10);
    free(p);
    free(q);
    return 0;
}

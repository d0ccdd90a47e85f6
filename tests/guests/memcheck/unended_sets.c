/* What is searched for has no end: it is read to there, wherever it would be found. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int main(void) {
    char *set = malloc(5);
    memcpy(set, "abcde", 5);
    volatile size_t found = 0;
    found += strspn("a", set);
    found += strcspn("a", set);
    found += strpbrk("a", set) != 0;
    found += strstr("xy", set) != 0;
    found += strcasestr("XY", set) != 0;
    free(set);
    return 0;
}

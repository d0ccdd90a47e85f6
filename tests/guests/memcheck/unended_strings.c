/* Searches in a string without an end: the byte behind its block is one error. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int main(void) {
    char *s = malloc(5);
    memcpy(s, "abcde", 5);
    volatile size_t found = 0;
    found += strlen(s);
    found += strchr(s, 'z') != 0;
    found += strrchr(s, 'z') != 0;
    found += strchrnul(s, 'z') != 0;
    found += strstr(s, "zz") != 0;
    found += strcasestr(s, "zz") != 0;
    found += strpbrk(s, "zy") != 0;
    found += strcspn(s, "zy");
    found += strspn(s, "edcba");
    free(s);
    return 0;
}

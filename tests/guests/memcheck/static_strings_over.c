/* A static program's string functions that do run over the end of a block.
 * @build: -static -fno-builtin
 * @options: -q --leak-check=no */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

int main(void) {
    char *p = malloc(6), *q = malloc(6), *d = malloc(40);
    wchar_t *w = malloc(3 * sizeof *w);
    memcpy(p, "abcdef", 6);
    memcpy(q, "abcdef", 6);
    wmemcpy(w, L"abc", 3);
    volatile long sink = 0;
    sink += (long)strlen(p);
    sink += strcmp(p, q);
    sink += strncmp(p, q, 9);
    sink += (long)strchr(p, 'z');
    sink += (long)strrchr(p, 'z');
    sink += memcmp(p, q, 8);
    sink += (long)memchr(p, 'z', 7);
    sink += (long)strnlen(p, 10);
    sink += (long)wcslen(w);
    memcpy(d, p, 7);
    memset(p, 'z', 7);
    strcpy(p, "abcdef");
    free(p);
    free(q);
    free(d);
    free(w);
    return 0;
}

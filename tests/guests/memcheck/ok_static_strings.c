/* A static program's string functions, at every small size and end of block: the C library's bodies for
 * the CPU read whole vectors, past the end of the strings, and are replaced by name.
 * @build: -static -fno-builtin
 * @options: -q --leak-check=no */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static unsigned long sum;
#define ADD(x) (sum = sum * 31 + (unsigned long)(x))
#define AT(p) ((p) ? (char *)(p) - base : -1)

static void narrow(size_t n) {
    char *base = malloc(n), *b = malloc(n), *d = malloc(n), *two = malloc(2 * n - 1);
    memset(base, 'a', n);
    base[n - 1] = 0;
    strcpy(b, base);
    ADD(strlen(base)), ADD(strnlen(base, n + 99)), ADD(strnlen(base, n));
    ADD(AT(strchr(base, 'z'))), ADD(AT(strrchr(base, 'z'))), ADD(AT(strchrnul(base, 'z')));
    ADD(AT(index(base, 0))), ADD(AT(rindex(base, 'a')));
    ADD(AT(memchr(base, 0, n))), ADD(AT(memchr(base, 'z', n))), ADD(AT(rawmemchr(base, 0)));
    ADD(AT(memrchr(base, 'z', n)));
    ADD(strcmp(base, b)), ADD(strncmp(base, b, n + 99)), ADD(strncmp(base, b, n));
    ADD(strcasecmp(base, b)), ADD(strncasecmp(base, b, n + 99));
    ADD(memcmp(base, b, n)), ADD(bcmp(base, b, n));
    ADD(strspn(base, b)), ADD(strcspn(base, "xyz")), ADD(AT(strpbrk(base, "xyz")));
    ADD(AT(strstr(base, "aaab"))), ADD(AT(strstr(base, b))), ADD(AT(strcasestr(base, b)));
    ADD(AT(memmem(base, n, "zz", 2)));
    ADD(stpcpy(d, base) - d), ADD(stpncpy(d, base, n) - d), strncpy(d, base, n);
    strcpy(two, base), strcat(two, base), ADD(strlen(two));
    strcpy(two, base), strncat(two, base, n), ADD(strlen(two));
    memcpy(d, base, n), memmove(d, base, n), ADD((char *)mempcpy(d, base, n) - d);
    memmove(two + n - 1, two, n), memmove(two, two + n - 1, n), ADD(two[0]);
    ADD(AT(memccpy(d, base, 'z', n)) < 0);
    free(base), free(b), free(d), free(two);
}

static void wide(size_t n) {
    wchar_t *base = malloc(n * sizeof *base), *b = malloc(n * sizeof *b), *two = malloc((2 * n - 1) * sizeof *b);
    wmemset(base, L'a', n);
    base[n - 1] = 0;
    wcscpy(b, base);
    ADD(wcslen(base)), ADD(wcsnlen(base, n + 99));
    ADD(wcschr(base, L'z') == 0), ADD(wcsrchr(base, L'z') == 0), ADD(wmemchr(base, L'z', n) == 0);
    ADD(wcscmp(base, b)), ADD(wcsncmp(base, b, n + 99)), ADD(wmemcmp(base, b, n));
    wcsncpy(b, base, n), ADD(wcpncpy(b, base, n) - b);
    wcscpy(two, base), wcscat(two, base), ADD(wcslen(two));
    free(base), free(b), free(two);
}

int main(void) {
    for (size_t n = 1; n < 140; n++)
        narrow(n), wide(n);
    printf("%lx\n", sum);
    return 0;
}

/* What comparisons of undefined bytes answer is undefined where Valgrind's is, and is told again by who tests it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>
int main(void) {
    char *p = malloc(20), q[20];
    wchar_t *w = malloc(20), v[5];
    volatile int sum = 0;
    memset(q, 'a', 20);
    wmemset(v, L'a', 5);
    p[19] = q[19] = 0, w[4] = v[4] = 0;
    int (*volatile m)(const void *, const void *, size_t) = memcmp;
    int (*volatile n)(const char *, const char *, size_t) = strncmp;
    if (m(p, q, 20))
        sum++;
    if (m(p, q, 3) > 0)
        sum++;
    if (n(p, q, 9))
        sum++;
    if (bcmp(p, q, 4))
        sum++;
    if (wcscmp(w, v))
        sum++;
    if (wcsncmp(w, v, 3))
        sum++;
    if (memmem(p, 20, q, 3))
        sum++;
    return 0;
}

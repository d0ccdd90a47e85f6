/* What comparisons of strings answer is defined, also of an undefined character that differs: it is told once, where it
 * is compared.  What a copy ends with is a zero of its own. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

int main(void) {
    char *p = malloc(8), *u = malloc(8), b[20];
    wchar_t *w = malloc(16), *x = malloc(16), wide[20];
    volatile int sum = 0;
    memcpy(p, "heLlo", 6);
    p[3] = u[0];
    wcscpy(w, L"ab");
    w[1] = x[0];
    if (strncmp(p, "heLp", 4) > 0)
        sum++;
    if (strncmp(p, "heLp", 4) < 0)
        sum++;
    if (wcscmp(w, L"ab") < 0)
        sum++;
    if (wcsncmp(w, L"ab", 2) < 0)
        sum++;
    if (memcmp(p, "heLp", 4))
        sum++;
    strcpy(b, p);
    sum += strlen(b);
    sum += stpcpy(b, p) - b;
    sum += strlen(b);
    strcat(b, p);
    sum += strlen(b);
    wcscpy(wide, w);
    sum += wcslen(wide);
    return 0;
}

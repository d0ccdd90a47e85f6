/* Wide-character functions that run over the end of a block. */
#include <stdlib.h>
#include <wchar.h>

int main(void) {
    wchar_t *p = malloc(3 * sizeof *p);
    p[0] = L'a';
    p[1] = L'b';
    p[2] = L'c';
    volatile size_t n = wcslen(p);
    p[2] = 0;
    wcscpy(p + 1, L"bc"); /* its terminator is behind the block */
    p[2] = L'c';
    n = wcscmp(p, L"abcd") + wcscmp(L"abcd", p);
    (void)n;
    free(p);
    return 0;
}

/* Wide strings with undefined characters, and behind a block. */
#include <stdlib.h>
#include <wchar.h>

int main(void) {
    wchar_t *w = malloc(5 * sizeof *w);
    wchar_t local[10];
    volatile int sum = 0;
    w[0] = L'a';
    w[2] = 0;
    if (wcslen(w) == 2) /* w[1] is not defined */
        sum++;
    if (wcscmp(w, L"ab") == 0)
        sum++;
    if (wcschr(w, L'b'))
        sum++;
    w[1] = w[2] = w[3] = w[4] = L'c';
    sum += wcslen(w);
    sum += wcsnlen(w, 5);
    wcsncpy(local, w, 5);
    local[5] = 0;
    sum += wcscmp(local, L"accccc");
    sum += wmemchr(w, L'z', 6) == 0;
    if (wmemcmp(local + 5, local + 6, 2) == 0)
        sum++;
    free(w);
    sum += wcsrchr(w, L'a') != 0;
    return 0;
}

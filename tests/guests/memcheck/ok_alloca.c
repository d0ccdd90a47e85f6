/* No error: alloca and variable-length arrays written before they are read. */
#include <alloca.h>
#include <string.h>

static long __attribute__((noinline)) use(int n) {
    long a[n], s = 0;
    char *p = alloca((size_t)n * 3 + 1);
    memset(p, 1, (size_t)n * 3);
    for (int i = 0; i < n; i++)
        a[i] = i;
    for (int i = 0; i < n; i++)
        s += a[i] + p[3 * i];
    return s;
}

int main(void) {
    long s = 0;
    for (int n = 1; n < 3000; n += 97)
        s += use(n);
    return s == 0;
}

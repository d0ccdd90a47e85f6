/* A call through an undefined pointer, a return value that was never set, a variadic argument that is missing. */
#include <stdarg.h>
#include <string.h>
#include <stdlib.h>
static int good(void) { return 3; }
static int forgot(int n) {
    if (n)
        return 1;
}
static int pick(int n, ...) {
    va_list v;
    int r = 0;
    va_start(v, n);
    while (n--)
        r = va_arg(v, int);
    va_end(v);
    return r;
}
int main(void) {
    int (**table)(void) = malloc(2 * sizeof *table);
    int undefined;
    volatile int sum = 0;
    memset(table, 0, 0);
    table[0] = good;
    sum += table[0]();
    if (pick(3, 1, 2, undefined))
        sum++;
    void *area = &table[1];
    *(volatile char *)area = 0; /* one byte of the pointer is defined */
    free(table);
    sum += table[0]();
    return 0;
}

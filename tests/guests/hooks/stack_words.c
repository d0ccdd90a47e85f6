/* Functions with arguments on the stack, and callers that notice when what is not theirs to lose is overwritten. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define F __attribute__((noipa, used))
#define TEN(n) long n##0, long n##1, long n##2, long n##3, long n##4, long n##5, long n##6, long n##7, long n##8, long n##9

F int nine(int a, int b, int c, int d, int e, int f, int g, int h, int i) { return g * 100 + h * 10 + i; }

F int sum(int n, ...) {
    va_list ap;
    int all = 0;
    va_start(ap, n);
    while (n--) all += va_arg(ap, int);
    va_end(ap);
    return all;
}

/* Has no word on the stack for an argument, so a seventh one has its place where these lie. */
F long keeps(int n) {
    volatile long a = 1, b = 2, c = 3;
    printf("sum %d\n", sum(n, 7));
    return a * 100 + b * 10 + c;
}

F long fifty(TEN(a), TEN(b), TEN(c), TEN(d), TEN(e)) { return a0 + a6 + d7 + d8 + e9; }

F int decides(int a, int b, int c, int d, int e, int f, int g) {
    if (g) puts("not zero");
    return a;
}

int main(void) {
    printf("nine %d\n", nine(1, 2, 3, 4, 5, 6, 7, 8, 9));
    printf("keeps %ld\n", keeps(1));
    printf("fifty %ld\n", fifty(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                                26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
                                49));
    int *p = malloc(sizeof *p);
    return decides(0, 0, 3, 4, 5, 6, *p);
}

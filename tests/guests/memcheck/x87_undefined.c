/* Undefined long doubles, carried through the x87 unit: reported where something depends on them.
 * @build: -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int reached;

__attribute__((noinline)) static void compared(const long double *p) {
    if (*p > 1.0L)
        reached++;
}

__attribute__((noinline)) static long double carried(long double a, long double b) {
    return (a + 3) * b - a / 7;
}

__attribute__((noinline)) static void converted(const long double *p) {
    long n = (long)*p;
    if (n == 5)
        reached++;
}

__attribute__((noinline)) static void indexed(const long double *p) {
    static const char table[256];
    reached += table[(unsigned char)(short)*p];
}

__attribute__((noinline)) static void rounded(const long double *p) {
    double d = (double)*p;
    unsigned long bits;
    memcpy(&bits, &d, 8);
    if (bits & 1)
        reached++;
}

__attribute__((noinline)) static void by_status_word(const long double *p) {
    unsigned short word;
    __asm__ volatile("fldt %1; fld1; fcompp; fnstsw %0" : "=a"(word) : "m"(*p));
    if (word & 0x100)
        reached++;
    if (word & 0x200) /* C1 is cleared */
        reached++;
}

__attribute__((noinline)) static void chosen(const long double *p, long double a, long double b) {
    long double r;
    __asm__ volatile("fldt %2; fldt %1; fldt %3; fcomip %%st(2); fcmovb %%st(1), %%st; fstpt %0; fstp %%st(0)"
                     : "=m"(r)
                     : "m"(a), "m"(b), "m"(*p));
    if (r == a)
        reached++;
}

__attribute__((noinline)) static void classified(const long double *p) {
    unsigned short word;
    __asm__ volatile("fldt %1; fxam; fstp %%st(0); fnstsw %0" : "=a"(word) : "m"(*p));
    if ((word & 0x4500) == 0x0100)
        reached++;
}

__attribute__((noinline)) static void integer_loaded(const int *p) {
    long double x = *p;
    if (x < 0)
        reached++;
}

int main(void) {
    long double *heap = malloc(sizeof *heap), stack, one = 1;
    int *number = malloc(sizeof *number);
    compared(heap);
    compared(&stack);
    stack = carried(*heap, one);
    compared(&stack);
    stack = carried(one, 2);
    compared(&stack); /* defined */
    converted(heap);
    indexed(heap);
    rounded(heap);
    by_status_word(heap);
    chosen(heap, 1, 2);
    classified(heap);
    integer_loaded(number);
    stack = fabsl(-*heap);
    compared(&stack);
    free(heap);
    free(number);
    return reached == 100;
}

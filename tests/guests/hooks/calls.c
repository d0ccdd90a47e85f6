/* Functions of many kinds, called once each; what they get and return is printed. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define F __attribute__((noipa, used))

F int add(int a, int b) { return a + b; }
F int8_t narrow(int8_t a, uint8_t b, int16_t c, uint16_t d) {
    printf("narrow %d %u %d %u\n", a, b, c, d);
    return (int8_t)(a - 1);
}
F uint64_t wide(uint64_t a, int64_t b, uint32_t c) {
    printf("wide %lx %ld %u\n", a, b, c);
    return a + 1;
}
F double mean(double a, float b, int n) {
    printf("mean %.2f %.2f %d\n", a, b, n);
    return (a + b) / n;
}
F float half(float a) { return a / 2; }
F bool flip(bool a) { return !a; }
F const char *name(const char *s) {
    printf("name %s\n", s ? s : "NULL");
    return s;
}
F long ten(long a, long b, long c, long d, long e, long f, long g, long h, double x, long i, long j) {
    printf("ten %ld %ld %ld %ld %ld %ld %ld %ld %.1f %ld %ld\n", a, b, c, d, e, f, g, h, x, i, j);
    return a + j;
}
F int total(int n, ...) {
    va_list ap;
    va_start(ap, n);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += i % 2 ? va_arg(ap, double) : va_arg(ap, int);
    va_end(ap);
    printf("total %.2f\n", sum);
    return (int)sum;
}
struct point {
    int x, y;
    double z;
};
F int move(struct point *p, int by) {
    p->x += by;
    return p->x;
}
struct big {
    long w[5];
};
F long by_value(struct big b, int k) { return b.w[k]; }
F struct big give(int k) {
    struct big b = {{k, k + 1, k + 2, k + 3, k + 4}};
    return b;
}
F int fails(void) {
    errno = ENOENT;
    return -1;
}
F void nothing(int *p) { *p = 7; }
F void *same(void *p) { return p; }

int main(void) {
    printf("add %d\n", add(2, 3));
    printf("narrow %d\n", narrow(-5, 250, -300, 65000));
    printf("wide %lx\n", wide(0xfedcba9876543210u, -7, 4000000000u));
    printf("mean %.3f\n", mean(1.5, 2.5f, 2));
    printf("half %.3f\n", half(5));
    bool f = flip(true);
    printf("flip %d %d\n", f, flip(false));
    printf("name %s\n", name("some name"));
    printf("name %s\n", name(NULL) ? "other" : "NULL");
    printf("ten %ld\n", ten(1, 2, 3, 4, 5, 6, 7, 8, 8.5, 9, 10));
    printf("total %d\n", total(6, 1, 2.5, 3, 4.5, 5, 6.5));
    struct point p = {1, 2, 3.5};
    printf("move %d\n", move(&p, 10));
    printf("point %d %d %.1f\n", p.x, p.y, p.z);
    struct big b = {{10, 11, 12, 13, 14}};
    printf("by_value %ld\n", by_value(b, 3));
    b = give(20);
    printf("give %ld %ld\n", b.w[0], b.w[4]);
    errno = 0;
    int r = fails();
    printf("fails %d %d\n", r, errno);
    int n = 0;
    nothing(&n);
    printf("nothing %d\n", n);
    printf("same %d\n", same(&n) == &n);
    return 0;
}

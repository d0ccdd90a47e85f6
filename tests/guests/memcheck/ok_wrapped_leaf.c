/* No error: a wrapper whose variables lie in the red zone, for the compiler sees no
 * call in it; CALL_FN steps over them. */
#include <string.h>
#include <valgrind/memcheck.h>

#define NAME(f) I_WRAP_SONAME_FNNAME_ZU(NONE, f)

__attribute__((noinline)) long fill(int fd, char *buf, unsigned long n) {
    memset(buf, fd, n / 2);
    return n;
}

long NAME(fill)(int fd, char *buf, unsigned long n) {
    OrigFn fn;
    long r;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WWW(r, fn, fd, buf, n);
    if (r == n)
        (void)VALGRIND_MAKE_MEM_DEFINED(buf, r);
    return r;
}

__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g) {
    return a + b + c + d + e + f + g;
}

long NAME(many)(long a, long b, long c, long d, long e, long f, long g) {
    OrigFn fn;
    long r;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_7W(r, fn, a, b, c, d, e, f, g);
    return r > 6 ? a + g : b;
}

int main(void) {
    char buf[64];
    long sum = 0;
    for (int i = 0; i < 5; i++) {
        fill(i, buf, sizeof buf);
        for (int k = 0; k < sizeof buf; k++)
            sum += buf[k] == 9;
        if (many(1, 2, 3, 4, 5, 6, i) == 1)
            sum++;
    }
    return sum == 77;
}

/* An undefined index, and an undefined function pointer, that stay in their registers: each place that uses them is
 * told, though not again in what follows it in a straight line.
 * @build: -O2 -fno-inline -fno-omit-frame-pointer */
#include <valgrind/memcheck.h>

static char bytes[64];
static volatile int many = 5;

static void nothing(void) { __asm__ volatile("" ::: "memory"); }

static int places(char *p, long k, int n) {
    p[k] = 1;
    p[k + 8] = 2;
    if (n > 2) {
        nothing();
        p[k + 16] = 3;
    }
    if (many > 3) {
        nothing();
        p[k + 24] = 4;
    }
    nothing();
    return k == 2 ? many : 4 * many;
}

static void calls(void (*f)(void)) {
    f();
    f();
    if (many > 4) {
        nothing();
        f();
        many = 1;
    }
}

int main(void) {
    long k = 2;
    void (*volatile f)(void) = nothing;
    VALGRIND_MAKE_MEM_UNDEFINED(&k, sizeof k);
    k &= 7;
    int twice = places(bytes, k, many);
    VALGRIND_MAKE_MEM_UNDEFINED((void *)&f, sizeof f);
    calls(f);
    return twice < 0;
}

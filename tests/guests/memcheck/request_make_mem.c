/* MAKE_MEM_NOACCESS, _UNDEFINED, _DEFINED and _DEFINED_IF_ADDRESSABLE. */
#include <stdlib.h>
#include <valgrind/memcheck.h>

static volatile int sink;

static void __attribute__((noinline)) test(int *p) {
    if (*p == 1)
        sink++;
}

int main(void) {
    int *p = malloc(8 * sizeof *p);
    int local = 3;
    test(p);
    VALGRIND_MAKE_MEM_DEFINED(p, sizeof *p);
    test(p);
    VALGRIND_MAKE_MEM_NOACCESS(p + 1, sizeof *p);
    sink = p[1];
    VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(p, 3 * sizeof *p);
    sink = p[1];
    test(p + 2);
    VALGRIND_MAKE_MEM_UNDEFINED(&local, sizeof local);
    test(&local);
    free(p);
    return 0;
}

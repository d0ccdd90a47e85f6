/* CHECK_MEM_IS_ADDRESSABLE, CHECK_MEM_IS_DEFINED, CHECK_VALUE_IS_DEFINED: reports and results. */
#include <stdlib.h>
#include <valgrind/memcheck.h>

int main(void) {
    char *p = malloc(10);
    int bad = 0, value;
    bad += VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p, 10) != 0;
    bad += VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p, 12) != (unsigned long)(p + 10);
    p[0] = p[1] = 1;
    bad += VALGRIND_CHECK_MEM_IS_DEFINED(p, 2) != 0;
    bad += VALGRIND_CHECK_MEM_IS_DEFINED(p, 3) != (unsigned long)(p + 2);
    bad += VALGRIND_CHECK_MEM_IS_DEFINED(p, 11) != (unsigned long)(p + 2);
    bad += VALGRIND_CHECK_VALUE_IS_DEFINED(value) != (unsigned long)&value;
    free(p);
    bad += VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p, 1) != (unsigned long)p;
    return bad;
}

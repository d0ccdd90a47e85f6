/* MAKE_MEM_DEFINED_IF_ADDRESSABLE leaves what is not addressable; checks answer the first bad address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

int main(void) {
    char *p = malloc(40), value;
    volatile int sum = 0;
    VALGRIND_MAKE_MEM_NOACCESS(p + 10, 5);
    fprintf(stdout, "%ld\n", (long)(VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p, 40) - (unsigned long)p));
    VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(p, 40);
    if (p[3] == 1)
        sum++;
    p[12] = 1; /* no access */
    VALGRIND_MAKE_MEM_UNDEFINED(p, 40);
    p[12] = 1;
    fprintf(stdout, "%ld\n", (long)(VALGRIND_CHECK_MEM_IS_DEFINED(p + 12, 5) - (unsigned long)p));
    VALGRIND_CHECK_VALUE_IS_DEFINED(value);
    VALGRIND_MAKE_MEM_DEFINED(&value, 1);
    VALGRIND_CHECK_VALUE_IS_DEFINED(value);
    VALGRIND_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE(p + 40, 4);
    p[41] = 1;
    VALGRIND_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE(p + 40, 4);
    p[42] = 1;
    fprintf(stdout, "%ld\n", (long)VALGRIND_CHECK_MEM_IS_DEFINED(p, 0));
    free(p);
    return 0;
}

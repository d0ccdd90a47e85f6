/* printf of an undefined int: errors in the C library, called from here. */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

int main(void) {
    int *p = malloc(sizeof *p);
    *p = 1234;
    VALGRIND_MAKE_MEM_UNDEFINED(p, sizeof *p);
    char text[40];
    int n = snprintf(text, sizeof text, "%d", *p);
    free(p);
    return n == 99;
}

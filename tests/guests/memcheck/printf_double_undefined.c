/* printf of an undefined double. */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

int main(void) {
    double *p = malloc(sizeof *p);
    *p = 3;
    VALGRIND_MAKE_MEM_UNDEFINED(p, sizeof *p);
    char text[400];
    int n = snprintf(text, sizeof text, "%.0f", *p);
    free(p);
    return n == 999;
}

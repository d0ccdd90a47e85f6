/* CREATE_BLOCK: its name in descriptions, inside and beside; DISCARD of it, of another, of none. */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

static char area[200];

int main(void) {
    volatile int sum = 0;
    int a = VALGRIND_CREATE_BLOCK(area + 20, 50, "first table");
    int b = VALGRIND_CREATE_BLOCK(area + 100, 10, "second table");
    VALGRIND_MAKE_MEM_NOACCESS(area + 20, 50);
    VALGRIND_MAKE_MEM_NOACCESS(area + 100, 20);
    sum += area[30];
    sum += area[105];
    sum += area[112];
    fprintf(stdout, "%d\n", (int)VALGRIND_DISCARD(a));
    fprintf(stdout, "%d\n", (int)VALGRIND_DISCARD(a));
    fprintf(stdout, "%d\n", (int)VALGRIND_DISCARD(1000));
    sum += area[31];
    VALGRIND_DISCARD(b);
    return 0;
}

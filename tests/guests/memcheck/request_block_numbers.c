/* CREATE_BLOCK: what holds nothing gets no number, numbers are given again from the lowest, and the block of the lowest
 * one describes an address; thousands of them. */
#include <stdio.h>
#include <valgrind/memcheck.h>

enum { MANY = 20000 };
static char area[200];

static void show(int number) { fprintf(stdout, "%d\n", number); }

int main(void) {
    volatile int sum = 0;
    show(VALGRIND_CREATE_BLOCK(area, 0, "empty"));
    show(VALGRIND_CREATE_BLOCK(0, 10, "nowhere"));
    for (int i = 0; i < 3; i++) show(VALGRIND_CREATE_BLOCK(area + 10, 20, "early"));
    show(VALGRIND_DISCARD(-1));
    show(VALGRIND_DISCARD(1));
    show(VALGRIND_DISCARD(0));
    show(VALGRIND_CREATE_BLOCK(area + 12, 4, "late"));
    show(VALGRIND_CREATE_BLOCK(area + 100, -1ul, "endless"));
    show(VALGRIND_CREATE_BLOCK(area + 150, 10, "last"));
    VALGRIND_MAKE_MEM_NOACCESS(area, 200);
    sum += area[13];
    sum += area[20];
    sum += area[120];
    sum += area[151];
    for (int i = 0; i < MANY; i++) VALGRIND_CREATE_BLOCK(area, 1, "one of many");
    for (int i = MANY; i >= 0; i -= 2) VALGRIND_DISCARD(i);
    show(VALGRIND_CREATE_BLOCK(area + 180, 1, "after"));
    show(VALGRIND_CREATE_BLOCK(area + 180, 1, "after"));
    return 0;
}

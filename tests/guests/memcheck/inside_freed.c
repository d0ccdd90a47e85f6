/* Reads and writes inside a freed block: stacks of the release and of the allocation. */
#include <stdlib.h>

static int *make(void) { return calloc(10, sizeof(int)); }
static void drop(int *p) { free(p); }

int main(void) {
    int *p = make();
    drop(p);
    int seen = *(volatile int *)&p[3];
    *(volatile char *)&p[9] = 1;
    return seen == 99;
}

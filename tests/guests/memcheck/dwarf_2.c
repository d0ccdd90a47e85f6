/* DWARF 2, with a #line of another file, and a function in a section of its own.  @build: -gdwarf-2 -ffunction-sections */
#include <stdlib.h>

static int touch(char *p) {
#line 100 "elsewhere.y"
    return p[5];
#line 9 "dwarf_2.c"
}
int main(void) {
    char *p = malloc(5);
    volatile int sum = touch(p);
    if (p[2])
        sum++;
    free(p);
    return 0;
}

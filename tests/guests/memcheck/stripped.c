/* Stripped: no names but those of dynamic symbols.  @build: -s -O1 -fno-inline -rdynamic */
#include <stdlib.h>

__attribute__((noinline, noclone)) static int hidden(int *p) { return p[4] == 2 ? 3 : 4; }
__attribute__((noinline, noclone)) int visible(int *p) { return hidden(p) + 1; }
int main(void) {
    int *p = malloc(16);
    volatile int sum = visible(p);
    free(p);
    return 0;
}

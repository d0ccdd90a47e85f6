/* The older spelling of the kinds to be shown.  @options: --leak-check=full --show-possibly-lost=no */
#include <stdlib.h>
static void *kept;
static void __attribute__((noinline)) make(void) {
    kept = malloc(3);
    char **possible = malloc(20);
    static char *inside;
    inside = (char *)possible + 4;
    malloc(7);
}
int main(void) {
    make();
    return 0;
}

/* One leak is suppressed by a file, one is not.
 * @options: --leak-check=full --suppressions=@DIR@/leak_suppressed.supp */
#include <stdlib.h>

static void __attribute__((noinline)) known_leak(void) {
    volatile char *p = malloc(10);
    p[0] = 1;
}
static void __attribute__((noinline)) other_leak(void) {
    volatile char *p = malloc(20);
    p[0] = 1;
}

int main(void) {
    known_leak();
    known_leak();
    other_leak();
    return 0;
}

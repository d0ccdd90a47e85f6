/* One leak is suppressed by a file, with what hangs on it, one is not.
 * @options: --leak-check=full -s --suppressions=@DIR@/leak_suppressed.supp */
#include <stdlib.h>

static void __attribute__((noinline)) known_leak(void) {
    volatile char *p = malloc(10);
    p[0] = 1;
}
static void __attribute__((noinline)) known_tree(void) {
    char *volatile *p = malloc(30);
    p[0] = malloc(100);
}
static void __attribute__((noinline)) other_leak(void) {
    volatile char *p = malloc(20);
    p[0] = 1;
}

int main(void) {
    known_leak();
    known_leak();
    known_tree();
    other_leak();
    return 0;
}

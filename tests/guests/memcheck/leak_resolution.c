/* Stacks that --leak-resolution merges are shown as the one that was recorded first.
 * @options: --leak-check=full --leak-resolution=med */
#include <stdlib.h>

static void __attribute__((noinline)) leak(int depth, int size) {
    if (depth)
        leak(depth - 1, size);
    else
        *(volatile char *)malloc(size) = 1;
}

int main(void) {
    leak(0, 20); /* so that blocks of this size lie before those of 10 */
    leak(4, 10);
    leak(5, 10);
    leak(3, 100);
    leak(9, 20);
    return 0;
}

/* No error: the linker has folded another allocator's mallopt into a function that has nothing to do with it, which
 * gives what it gives natively. */
#include <malloc.h>
#include <stdlib.h>

int mallopt(int what, int value) {
    (void)what;
    (void)value;
    return 0;
}
int is_anything(int of_these, int those) __attribute__((alias("mallopt")));

int main(void) {
    free(malloc(10));
    return is_anything(1, 2) + mallopt(M_TRIM_THRESHOLD, 1000);
}

/* The same errors in optimised code, with frames of inlined functions.
 * @build: -O2 */
#include <stdlib.h>

struct item { int key, used; };

static inline int is_used(const struct item *it) { return it->used != 0; }
static inline int count(const struct item *it, int n) {
    int k = 0;
    for (int i = 0; i < n; i++) {
        __asm__ volatile("");
        if (is_used(it + i))
            k++;
    }
    return k;
}

int main(void) {
    struct item *volatile p = malloc(5 * sizeof *p);
    volatile int k = count(p, 5);
    free(p);
    k = *(volatile int *)&p->key;
    return 0 & k;
}

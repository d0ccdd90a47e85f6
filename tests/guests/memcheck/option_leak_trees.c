/* Leaks and all allocations as trees in files.
 * @options: --xtree-leak=yes --xtree-leak-file=leaks.kcg --xtree-memory=full --xtree-memory-file=memory.kcg --xtree-compress-strings=no */
#include <stdlib.h>
static void *kept;
static void *__attribute__((noinline)) make(int n) { return malloc(n); }
int main(void) {
    kept = make(5);
    free(make(6));
    make(7);
    kept = realloc(kept, 50);
    return 0;
}

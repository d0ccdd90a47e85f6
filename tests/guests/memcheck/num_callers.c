/* --num-callers cuts stacks.
 * @options: --num-callers=3 */
#include <stdlib.h>

static volatile int sink;

static int *make(void) { return malloc(4); }
static int *make_more(void) { return make(); }
static void __attribute__((noinline)) c(int *p) { sink = p[1]; }
static void __attribute__((noinline)) b(int *p) { c(p); }
static void __attribute__((noinline)) a(int *p) { b(p); }

int main(void) {
    int *p = make_more();
    a(p);
    return 0;
}

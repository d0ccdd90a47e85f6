/* What is merged makes room for the callers of the recursion, however deep it was.
 * @options: --merge-recursive-frames=2 --num-callers=6 --leak-check=full */
#include <stdlib.h>

static volatile int sink;

static void leaf(int *p) { sink = p[1]; }
static void self(int n, int *p) {
    if (n)
        self(n - 1, p);
    else
        leaf(p);
}
static void pong(int n, int *p);
static void ping(int n, int *p) {
    if (n)
        pong(n - 1, p);
    else
        leaf(p);
}
static void pong(int n, int *p) {
    if (n)
        ping(n - 1, p);
    else
        leaf(p);
}
static void three_b(int n, int *p);
static void three_c(int n, int *p);
static void three_a(int n, int *p) {
    if (n)
        three_b(n - 1, p);
    else
        leaf(p);
}
static void three_b(int n, int *p) {
    if (n)
        three_c(n - 1, p);
    else
        leaf(p);
}
static void three_c(int n, int *p) {
    if (n)
        three_a(n - 1, p);
    else
        leaf(p);
}
static void *deep_malloc(int n) { return n ? deep_malloc(n - 1) : malloc(5); }

static void first(int *p) {
    self(1000, p);
    ping(1000, p);
    three_a(1000, p);
}
static void second(int *p) { first(p); }
static void third(int *p) {
    second(p);
    sink = deep_malloc(100) != 0;
}

int main(void) {
    int *p = malloc(4);
    third(p);
    ping(1, p);
    ping(7, p); /* the same stack as with 5, and as with 3 */
    ping(5, p);
    ping(3, p);
    free(p);
    return 0;
}

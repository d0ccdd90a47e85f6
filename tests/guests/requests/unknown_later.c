/* A request that nobody knows, before -v, after it, and after another change of an option, which has the runtime ask
 * again; each time with a default of its own. */
#include <valgrind/valgrind.h>

#define UNKNOWN 0x515a0003

static int wrong;

static void ask(void) {
    for (long i = 0; i < 100; i++) wrong += VALGRIND_DO_CLIENT_REQUEST_EXPR(i, UNKNOWN, 1, 2, 3, 4, 5) != i;
}

int main(void) {
    ask();
    VALGRIND_CLO_CHANGE("-v");
    ask();
    VALGRIND_CLO_CHANGE("--trace-sched=no");
    ask();
    return wrong;
}

/* Endless recursion with a handler that has no stack to run on: what ends the program is the overflow. */
#include <signal.h>
#include <stdlib.h>

static int down(int n) { volatile char pad[1000]; pad[0] = (char)n; return down(n + 1) + pad[0]; }

static void handler(int number) { exit(number); }

int main(void) {
    signal(SIGSEGV, handler);
    return down(0);
}

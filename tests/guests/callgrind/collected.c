/* Collecting is switched within calls, and by a handler. */
#include <interpose/callgrind.h>
#include <signal.h>

__attribute__((noinline)) void leaf(void) { __asm__ volatile("nop; nop; nop"); }
__attribute__((noinline)) void times(int n) {
    for (volatile int i = 0; i < n; i++) leaf();
}
__attribute__((noinline)) void inner(void) { INTERPOSE_CALLGRIND_TOGGLE_COLLECT; }
__attribute__((noinline)) void outer(void) { inner(); }

__attribute__((noinline)) void handled(void) { leaf(); }
__attribute__((noinline)) void handler(int s) {
    (void)s;
    handled();
}
__attribute__((noinline)) void after(void) { leaf(); }
__attribute__((noinline)) void switching(int s) {
    (void)s;
    INTERPOSE_CALLGRIND_TOGGLE_COLLECT;
    after();
}
__attribute__((noinline)) void interrupted(void) {
    times(3);
    raise(SIGUSR1);
    raise(SIGUSR2);
    times(4);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        for (int i = 0; i < 6; i++) outer();
        return 0;
    }
    signal(SIGUSR1, handler);
    signal(SIGUSR2, switching);
    interrupted();
    return 0;
}

/* A handler on an alternate stack, in static memory or an array further up, meets locals of what it has interrupted. */
#include <signal.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

static char *local, *argument;

static void handler(int sig) {
    VALGRIND_CHECK_MEM_IS_DEFINED(local, 1);
    VALGRIND_CHECK_MEM_IS_DEFINED(argument, 1);
}

__attribute__((noinline)) static void interrupted(char *from_above) {
    char bytes[40];
    local = bytes + 7;
    argument = from_above;
    raise(SIGUSR1);
}

__attribute__((noinline)) static void run(int is_array) {
    static char fixed[65536];
    char array[65536], undefined[30];
    stack_t stack = {.ss_sp = is_array ? array : fixed, .ss_size = sizeof fixed};
    sigaltstack(&stack, NULL);
    interrupted(undefined + 11);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
}

int main(void) {
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &act, NULL);
    run(0);
    run(1);
    return 0;
}

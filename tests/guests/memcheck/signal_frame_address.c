/* What the kernel puts on the stack for a handler is in no function's frame; what is around it is. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <valgrind/memcheck.h>

static void handler(int number, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    volatile char own[64] = {0};
    (void)number;
    (void)VALGRIND_MAKE_MEM_UNDEFINED(own, sizeof own);
    (void)VALGRIND_CHECK_MEM_IS_DEFINED(own, sizeof own);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(&uc->uc_mcontext.gregs[REG_R10], 8);
    (void)VALGRIND_CHECK_MEM_IS_DEFINED(&uc->uc_mcontext.gregs[REG_R10], 8);
    (void)VALGRIND_MAKE_MEM_DEFINED(&uc->uc_mcontext.gregs[REG_R10], 8);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(info, 4);
    (void)VALGRIND_CHECK_MEM_IS_DEFINED(info, 4);
}

static __attribute__((noinline)) void interrupted(void) {
    volatile char own[176] = {0};
    (void)VALGRIND_MAKE_MEM_UNDEFINED(own, sizeof own);
    kill(getpid(), SIGUSR1);
    (void)VALGRIND_CHECK_MEM_IS_DEFINED(own, sizeof own);
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, NULL);
    interrupted();
    return 0;
}

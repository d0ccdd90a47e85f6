/* A frame whose extended state the CPU refuses: SIGSEGV finds the other registers restored, so its handler can return. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static volatile int refused, same;
static sigset_t blocked;
static uint64_t interrupted;

static void wreck(int sig, siginfo_t *si, void *context) {
    ucontext_t *uc = context;
    (void)sig, (void)si;
    interrupted = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
    sigaddset(&uc->uc_sigmask, SIGUSR2);
    memset((char *)uc->uc_mcontext.fpregs + 512 + 8, 0xff, 8); /* the header's second word */
}

static void segv(int sig, siginfo_t *si, void *context) {
    ucontext_t *uc = context;
    (void)sig;
    refused++;
    same = (uint64_t)uc->uc_mcontext.gregs[REG_RIP] == interrupted;
    blocked = uc->uc_sigmask;
    printf("code %d, address %p\n", si->si_code, si->si_addr);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = wreck, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &sa, NULL);
    sa.sa_sigaction = segv;
    sa.sa_flags = SA_SIGINFO | SA_RESETHAND;
    sigaction(SIGSEGV, &sa, NULL);
    raise(SIGUSR1);
    printf("back: %d refused, at the same place %d, the frame's mask %d\n", refused, same, sigismember(&blocked, SIGUSR2));
    return 0;
}

/* A handler's frame with segments that are none: the kernel's return meets a fault at the frame's address. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ucontext.h>
#include <ucontext.h>

static sigjmp_buf back;
static unsigned cs, ss;
static void target(void) {
    puts("got there");
    siglongjmp(back, 1);
}
static void edits(int sig, siginfo_t *si, void *context) {
    ucontext_t *u = context;
    unsigned short *segments = (unsigned short *)&u->uc_mcontext.gregs[REG_CSGSFS];
    if (cs) segments[0] = cs;
    segments[3] = ss;
    u->uc_mcontext.gregs[REG_RIP] = (long)target;
    u->uc_mcontext.gregs[REG_RSP] -= 1024 + 8;
}
static void faults(int sig, siginfo_t *si, void *context) {
    ucontext_t *u = context;
    greg_t *r = u->uc_mcontext.gregs;
    printf("signal %d code %d trap %lld error %llx at target %d\n", sig, si->si_code, r[REG_TRAPNO], r[REG_ERR], r[REG_RIP] == (long)target);
    siglongjmp(back, 1);
}
static void returns(unsigned to_cs, unsigned to_ss) {
    printf("cs %x ss %x: ", to_cs, to_ss);
    cs = to_cs, ss = to_ss;
    if (!sigsetjmp(back, 1)) raise(SIGUSR1);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = edits, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &sa, 0);
    sa.sa_sigaction = faults;
    sigaction(SIGSEGV, &sa, 0);
    sigaction(SIGBUS, &sa, 0);
    returns(0, 0x2b);
    returns(0x30, 0x28); /* the privilege is the kernel's to set */
    returns(0x7, 0x2b);
    returns(0xfff7, 0x2b);
    returns(0x2b, 0x2b);
    returns(0, 0x33);
    returns(0, 0);
    return 0;
}

// options: --undef-value-errors=no
// modes: memcheck tracking
/* ID and NT of the program, which rt_sigreturn does not restore, through faults of the engine's own accesses that the
 * program does not see: the flags afterwards, and those that a handler of its own is shown. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define AC 0x40000ul
#define KEPT 0x204000ul /* ID, NT */
#define SHOWN (KEPT | AC)

static uint64_t shown;

static void handler(int sig, siginfo_t *si, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig, (void)si;
    shown = (uint64_t)g[REG_EFL] & SHOWN;
    g[REG_RIP] = g[REG_RBX];
}

/* As many as a call stack beside this one has room for, and none comes back. */
static void calls(uint64_t n) {
    uint64_t flags;
    __asm__ volatile("sub $128, %%rsp; push %2; popfq\n"
                     "1: lea -1(%1), %1; call 2f\n"
                     "2: lea 8(%%rsp), %%rsp; mov %1, %%rcx; jrcxz 3f; jmp 1b\n"
                     "3: pushfq; pop %0; push $0x202; popfq; add $128, %%rsp"
                     : "=&r"(flags), "+r"(n)
                     : "r"(KEPT | 0x202)
                     : "rcx", "memory", "cc");
    printf("calls: %lx\n", (unsigned long)(flags & SHOWN));
}

/* A load to a register with undefined bits, from where there is nothing, nor anything known of it. */
static void nothing_there(uint64_t at) {
    uint64_t *undefined = malloc(64), value, flags;
    __asm__ volatile("mov (%2), %0\n"
                     "lea 1f(%%rip), %%rbx\n"
                     "push %4; popfq\n"
                     "mov (%3), %0\n"
                     "1: pushfq; pop %1; push $0x202; popfq"
                     : "=&r"(value), "=&r"(flags)
                     : "r"(undefined), "r"(at), "r"(KEPT | 0x202)
                     : "rbx", "memory", "cc");
    printf("a load from %lx: %lx, then %lx\n", (unsigned long)at, (unsigned long)shown, (unsigned long)(flags & SHOWN));
    free(undefined);
}

/* Fresh memory, and the program has alignment checked: the accesses to what is known of it must not be seen. */
static void fresh_memory(uint64_t flags) {
    char *p = malloc(4096);
    for (int i = 0; i < 512; i += 7)
        __asm__ volatile("push %1; popfq; movq $1, (%0)" ::"r"(p + 8 * i), "r"(flags | 0x202) : "memory", "cc");
    uint64_t flags_then;
    __asm__ volatile("push %2; popfq; movq $1, 8(%1); movl $1, 28(%1); mov 40(%1), %%eax; mov %%eax, 52(%1)\n"
                     "pushfq; pop %0; push $0x202; popfq"
                     : "=&r"(flags_then)
                     : "r"(p), "r"(flags | 0x202)
                     : "rax", "memory", "cc");
    printf("fresh memory, %lx: %lx\n", (unsigned long)flags, (unsigned long)(flags_then & SHOWN));
    free(p);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGSEGV, &sa, NULL);
    calls(4500000);
    nothing_there(0x10);
    nothing_there(0x2000000000);
    nothing_there(0x100000000000);
    nothing_there(0x8000000000000000);
    fresh_memory(KEPT);
    fresh_memory(SHOWN);
    return 0;
}

/* A program that single-steps itself with the trap flag: the address after each instruction, and the flags. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100
static uint64_t at[400], flags[400];
static int code[400];
static volatile int n, stop_at;
static uint64_t stack_word;

static void trap(int sig, siginfo_t *si, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig;
    if (n < 400) {
        at[n] = (uint64_t)g[REG_RIP];
        flags[n] = (uint64_t)g[REG_EFL];
        code[n] = si->si_code * (si->si_addr == (void *)g[REG_RIP] ? 1 : 100);
    }
    if (++n == stop_at) g[REG_EFL] &= ~TF;
}
static void other(int sig, siginfo_t *si, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    printf("signal %d in between: trap flag %d\n", sig, !!(g[REG_EFL] & TF));
    if (sig == SIGILL) g[REG_RIP] += 2;
    (void)si;
}

extern char first[], second[], third[], fourth[], fifth[];
static void show(const char *name, char *base) {
    printf("%s: %d traps\n", name, n);
    for (int i = 0; i < n && i < 400; i++)
        printf(" +%lx code %d flags %lx\n", (long)(at[i] - (uint64_t)base), code[i], (long)(flags[i] & 0xffff));
    n = 0;
}
__attribute__((noinline)) uint64_t callee(uint64_t x);
__asm__(".globl callee\ncallee: lea 1(%rdi), %rax\n ret\n");

int main(void) {
    struct sigaction sa = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &sa, 0);
    sa.sa_sigaction = other;
    sigaction(SIGILL, &sa, 0);
    sigaction(SIGUSR1, &sa, 0);
    /* Branches, calls, returns, pushf with the flag in it, popf that ends it. */
    __asm__ volatile("lea -128(%%rsp), %%rsp\n cmp %%eax, %%eax\n pushfq\n orq $0x100, (%%rsp)\n popfq\n"
                     "first: nop\n mov $3, %%ecx\n 1: dec %%ecx\n jnz 1b\n mov $5, %%edi\n call callee\n xor %%edx, %%edx\n"
                     "lea 2f(%%rip), %%rax\n jmp *%%rax\n nop\n 2: push %%rbx\n pop %%rbx\n"
                     "pushfq\n pushfq\n popq %0\n andq $~0x100, (%%rsp)\n popfq\n nop\n lea 128(%%rsp), %%rsp"
                     : "=m"(stack_word)::"rax", "rcx", "rdx", "rdi", "cc", "memory");
    show("branches", first);
    printf("pushed flags: trap %d\n", !!(stack_word & TF));

    /* Memory, vectors, a string instruction with count 1, system calls, cpuid. */
    static char from[64], to[64];
    strcpy(from, "some bytes to move");
    __asm__ volatile("lea -128(%%rsp), %%rsp\n cmp %%eax, %%eax\n pushfq\n orq $0x100, (%%rsp)\n popfq\n"
                     "second: movups (%%rsi), %%xmm0\n movups %%xmm0, (%%rdi)\n cmp %%eax, %%eax\n lahf\n"
                     "mov $39, %%eax\n syscall\n nop\n mov $39, %%eax\n syscall\n mov %%r11, %%rbx\n"
                     "cld\n movsb\n mov $1, %%ecx\n rep movsb\n"
                     "pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
                     : "=b"(stack_word) : "S"(from), "D"(to) : "rax", "rcx", "rdx", "r11", "cc", "memory", "xmm0");
    show("memory and calls", second);
    printf("moved: %.16s; r11 trap %d\n", to, !!(stack_word & TF));

    /* The handler ends it. */
    stop_at = 5;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n cmp %%eax, %%eax\n pushfq\n orq $0x100, (%%rsp)\n popfq\n"
                     "third: nop\n nop\n nop\n nop\n nop\n nop\n nop\n lea 128(%%rsp), %%rsp" ::: "cc", "memory");
    show("ended by the handler", third);
    stop_at = 0;

    /* A fault and a signal from a call under it. */
    __asm__ volatile("lea -128(%%rsp), %%rsp\n cmp %%eax, %%eax\n pushfq\n orq $0x100, (%%rsp)\n popfq\n"
                     "fourth: nop\n ud2\n nop\n"
                     "mov $39, %%eax\n syscall\n mov %%eax, %%edi\n mov $186, %%eax\n syscall\n mov %%eax, %%esi\n mov $10, %%edx\n"
                     "mov $234, %%eax\n syscall\n nop\n nop\n"
                     "pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "rax", "rcx", "rdx", "rdi", "rsi", "r11", "cc", "memory");
    show("signals", fourth);

    /* int3 and a popf that sets it once more. */
    __asm__ volatile("lea -128(%%rsp), %%rsp\n cmp %%eax, %%eax\n pushfq\n orq $0x100, (%%rsp)\n popfq\n"
                     "fifth: nop\n int3\n nop\n pushfq\n popfq\n nop\n"
                     "pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "cc", "memory");
    show("int3", fifth);
    return 0;
}

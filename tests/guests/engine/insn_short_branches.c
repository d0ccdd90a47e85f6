/* Near branches with an operand-size prefix: AMD's CPUs cut target and return address to 16 bits, Intel's ignore it. */
// modes: default single-step no-optimise no-chaining evict memcheck tracking
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define AT 0x123
static sigjmp_buf back;
static uint8_t *page;
static uint64_t stack[512];

static void on_signal(int sig, siginfo_t *si, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t top;
    memcpy(&top, (void *)g[REG_RSP], 8);
    printf(" signal %d code %d address %lx ip %lx sp %+ld top %lx below %lx cx %lx err %lx trap %ld flags %lx\n", sig,
           si->si_code, (long)si->si_addr, (long)g[REG_RIP], (long)(g[REG_RSP] - (long)&stack[256]), (long)top,
           (long)stack[255], (long)g[REG_RCX], (long)g[REG_ERR], (long)g[REG_TRAPNO], (long)(g[REG_EFL] & 0xcd5));
    siglongjmp(back, 1);
}

static void run(const char *name, const uint8_t *code, int n, long rcx) {
    memset(page, 0xcc, AT); /* no loop where a branch goes back */
    memset(page + AT, 0x90, 4096 - AT);
    memcpy(page + AT, code, (size_t)n);
    memcpy(page + AT + n, "\x0f\x0b", 2);
    memset(stack, 0, sizeof stack);
    stack[256] = 0x1122334455667788;
    stack[257] = 0x99aabbccddeeff00;
    printf("%s:", name);
    fflush(stdout);
    if (sigsetjmp(back, 1)) return;
    __asm__ volatile("mov %0, %%rsp\n mov $0x7766554433221100, %%rax\n cmp %%eax, %%eax\n jmp *%1"
                     : : "r"(&stack[256]), "r"(page + AT), "c"(rcx) : "rax", "memory");
}
#define RUN(name, rcx, ...)                                                                                            \
    do {                                                                                                               \
        const uint8_t code[] = {__VA_ARGS__};                                                                          \
        run(name, code, sizeof code, rcx);                                                                             \
    } while (0)

int main(void) {
    stack_t ss = {.ss_sp = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), .ss_size = 65536};
    struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    static const int signals[] = {SIGSEGV, SIGILL, SIGBUS, SIGTRAP};
    sigaltstack(&ss, 0);
    for (int i = 0; i < 4; i++) sigaction(signals[i], &sa, 0);
    page = mmap((void *)0x12340000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    RUN("jmp rel16", 0, 0x66, 0xe9, 0x10, 0x00);
    RUN("jmp rel16, negative", 0, 0x66, 0xe9, 0x10, 0x80);
    RUN("jmp rel8", 0, 0x66, 0xeb, 0x10);
    RUN("jmp rel8, back", 0, 0x66, 0xeb, 0xf0);
    RUN("jz rel8", 0, 0x66, 0x74, 0x10);
    RUN("jnz rel8, not taken", 0, 0x66, 0x75, 0x10);
    RUN("jz rel16", 0, 0x66, 0x0f, 0x84, 0x10, 0x00);
    RUN("jnz rel16, not taken", 0, 0x66, 0x0f, 0x85, 0x10, 0x00);
    RUN("call rel16", 0, 0x66, 0xe8, 0x10, 0x00);
    RUN("jmp reg", 0, 0x66, 0xff, 0xe0);
    RUN("call reg", 0, 0x66, 0xff, 0xd0);
    RUN("jmp mem", 0, 0x66, 0xff, 0x24, 0x24);
    RUN("call mem", 0, 0x66, 0xff, 0x14, 0x24);
    RUN("jmp mem, unmapped", 0, 0x66, 0xff, 0x21);
    RUN("call mem, no address", 1l << 62, 0x66, 0xff, 0x11);
    RUN("ret", 0, 0x66, 0xc3);
    RUN("ret 8", 0, 0x66, 0xc2, 8, 0);
    RUN("loop", 5, 0x66, 0xe2, 0x10);
    RUN("loop, not taken", 1, 0x66, 0xe2, 0x10);
    RUN("loop, large count", 0x20000, 0x66, 0xe2, 0x10);
    RUN("loopz", 5, 0x66, 0xe1, 0x10);
    RUN("jrcxz", 0, 0x66, 0xe3, 0x10);
    RUN("jrcxz, large", 0x10000, 0x66, 0xe3, 0x10);
    RUN("jecxz", 0x100000000, 0x66, 0x67, 0xe3, 0x10);
    RUN("REX.W jmp", 0, 0x66, 0x48, 0xe9, 0, 0, 0, 0);
    RUN("REX.W ret", 0, 0x66, 0x48, 0xc3);
    RUN("REX.W call reg", 0, 0x66, 0x48, 0xff, 0xd0);
    return 0;
}

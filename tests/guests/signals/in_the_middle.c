/* Faults in the middle of string instructions and wide accesses: registers say how far it got, and it goes on. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static char *area; /* two pages, the second closed */
static int verbose = 1;
static volatile long faults;

static void fault(int sig, siginfo_t *si, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    faults++;
    if (verbose)
        printf("  signal %d at +%ld: rcx %lld rsi +%lld rdi +%lld df %d err %llx\n", sig, (long)((char *)si->si_addr - area), g[REG_RCX],
               g[REG_RSI] - (greg_t)area, g[REG_RDI] - (greg_t)area, !!(g[REG_EFL] & 0x400), g[REG_ERR]);
    mprotect(area, 8192, PROT_READ | PROT_WRITE);
}
static volatile int ticks;
static void tick(int sig) { (void)sig; ticks++; }

static unsigned long sum(void) {
    unsigned long h = 5381;
    for (int i = 0; i < 8192; i++) h = h * 33 + (unsigned char)area[i];
    return h;
}
static void reset(void) {
    mprotect(area, 8192, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 8192; i++) area[i] = (char)(i * 11);
    mprotect(area + 4096, 4096, PROT_NONE);
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    area = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction sa = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, 0);
    uint64_t c, s, d, a;
#define STRING(text, C, S, D, A) \
    reset(); \
    c = (C), s = (uint64_t)area + (S), d = (uint64_t)area + (D), a = (A); \
    puts(text); \
    __asm__ volatile(text "\n cld" : "+c"(c), "+S"(s), "+D"(d), "+a"(a)::"memory", "cc"); \
    printf("  rcx %ld rsi +%ld rdi +%ld rax %lx sum %lx\n", (long)c, (long)(s - (uint64_t)area), (long)(d - (uint64_t)area), (long)a, sum())
    STRING("rep movsb", 100, 10, 4096 - 37, 0);
    STRING("rep movsq", 100, 4096 - 80, 64, 0);
    STRING("rep movsl", 30, 100, 4096 - 42, 0);
    STRING("rep stosb", 300, 0, 4096 - 99, 0x5a);
    STRING("rep stosq", 40, 0, 4096 - 64, 0x1122334455667788);
    STRING("std\n rep movsb", 300, 4096 + 100, 4096 - 100, 0);
    STRING("std\n rep stosw", 100, 0, 4096 + 50, 0xabcd);
    STRING("repne scasb", 8000, 0, 4000, 0x1ff);
    STRING("repe cmpsb", 200, 4096 - 100, 4096 - 100 - 256, 0);
    STRING("rep lodsb", 200, 4000, 0, 0);
    STRING("movups 4088(%%rdi), %%xmm1\n movups %%xmm1, (%%rdi)", 1, 0, 0, 0);
    STRING("movq %%rax, 4092(%%rdi)", 1, 0, 0, 0x123456789abcdef0);
    STRING("lock xaddq %%rax, 4096(%%rdi)", 1, 0, 0, 7);
    STRING("push %%rbx\n lea 4096(%%rdi), %%rbx\n addl $5, (%%rbx)\n pop %%rbx", 1, 0, 0, 7);
    STRING("fildl 4096(%%rdi)\n fistpl 100(%%rdi)", 1, 0, 0, 7);

    puts("a timer in long string instructions");
    enum { BIG = 8 << 20 };
    char *x = mmap(0, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *y = mmap(0, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < BIG; i++) x[i] = (char)(i * 7 + i / 256);
    struct sigaction ta = {.sa_handler = tick};
    sigaction(SIGALRM, &ta, 0);
    struct itimerval it = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &it, 0);
    int wrong = 0;
    for (int round = 0; round < 30 || ticks < 5; round++) {
        s = (uint64_t)x, d = (uint64_t)y + 3, c = BIG - 3;
        __asm__ volatile("rep movsb" : "+c"(c), "+S"(s), "+D"(d)::"memory");
        wrong += c != 0 || s != (uint64_t)x + BIG - 3 || memcmp(x, y + 3, BIG - 3) != 0;
        d = (uint64_t)y, c = BIG / 8;
        __asm__ volatile("rep stosq" : "+c"(c), "+D"(d) : "a"((long)round) : "memory");
        wrong += c != 0 || ((long *)y)[BIG / 16] != round;
    }
    it.it_value.tv_usec = it.it_interval.tv_usec = 0;
    setitimer(ITIMER_REAL, &it, 0);
    printf("wrong %d ticked %d\n", wrong, ticks > 0);
    return 0;
}

/* Under the program's own trap flag a repeated string instruction traps after each element. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100
struct step { uint64_t ip, cx, si, di; int flags, code; };
static struct step steps[64];
static volatile int n;
static char from[64], to[64];
extern char begin[];

static void trap(int sig, siginfo_t *si, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig;
    if (n < 64)
        steps[n] = (struct step){g[REG_RIP], g[REG_RCX], g[REG_RSI], g[REG_RDI], g[REG_EFL] & 0xfff, si->si_code};
    n++;
}

static uint64_t base, from_base, to_base;
static void show(const char *name) {
    printf("%s: %d traps\n", name, n);
    for (int i = 0; i < n && i < 64; i++)
        printf(" +%lx cx %lx si %lx di %lx flags %x code %d\n", (long)(steps[i].ip - base), (long)steps[i].cx,
               (long)(steps[i].si - from_base), (long)(steps[i].di - to_base), steps[i].flags, steps[i].code);
    n = 0;
}

/* The registers are set before the flag is. */
#define STEP(name, insn, count, source, target, value)                                                                \
    do {                                                                                                               \
        uint64_t cx = (uint64_t)(count), si = (uint64_t)(source), di = (uint64_t)(target);                             \
        __asm__ volatile("lea -128(%%rsp), %%rsp\n cmp %%eax, %%eax\n lea 1f(%%rip), %%rbx\n mov %%rbx, %3\n"         \
                         "pushfq\n orq $0x100, (%%rsp)\n popfq\n 1: " insn                                            \
                         "\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"                           \
                         : "+c"(cx), "+S"(si), "+D"(di), "=m"(base)                                                    \
                         : "a"((uint64_t)(value))                                                                      \
                         : "rbx", "cc", "memory");                                                                     \
        show(name);                                                                                                    \
        printf(" end cx %lx si %lx di %lx\n", (long)cx, (long)(si - from_base), (long)(di - to_base));       \
    } while (0)

static char *edge;
static volatile int faults;
static void fault(int sig, siginfo_t *si, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    printf("signal %d at the edge%+ld: cx %lx di edge%+ld trap flag %d resume %d\n", sig, (long)((char *)si->si_addr - edge),
           (long)g[REG_RCX], (long)(g[REG_RDI] - (long)edge), !!(g[REG_EFL] & TF), !!(g[REG_EFL] & 0x10000));
    if (++faults == 1) mprotect(edge, 4096, PROT_READ | PROT_WRITE);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &sa, 0);
    sa.sa_sigaction = fault;
    sigaction(SIGSEGV, &sa, 0);
    from_base = (uint64_t)from, to_base = (uint64_t)to;
    setvbuf(stdout, NULL, _IONBF, 0);
    strcpy(from, "some bytes to move");
    STEP("rep movsb", "cld\n rep movsb", 4, from, to, 0);
    STEP("rep movsq backwards", "std\n rep movsq\n cld", 2, from + 8, to + 8, 0);
    STEP("rep stosw", "rep stosw", 3, from, to, 0x4142);
    STEP("none", "rep movsb", 0, from, to, 0);
    STEP("one", "rep movsb", 1, from, to, 0);
    STEP("repne scasb to the end", "repne scasb", 3, from, to, 'x');
    strcpy(to, "abcdef");
    STEP("repne scasb found", "repne scasb", 6, from, to, 'c');
    strcpy(from, "aaab");
    strcpy(to, "aacb");
    STEP("repe cmpsb", "repe cmpsb", 4, from, to, 0);
    STEP("rep lodsd", "rep lodsl", 3, from, to, 0);
    from_base = to_base = 0; /* no element: whether the high halves go is up to the CPU */
    STEP("rep with 32-bit addresses counts in ecx", ".byte 0xf3, 0x67, 0xaa", 0x500000000ull, 0x123400005678ull,
         0x234500006789ull, 0);
    STEP("both pointers", ".byte 0xf3, 0x67, 0xa4", 0x500000000ull, 0x123400005678ull, 0x234500006789ull, 0);
    from_base = (uint64_t)from, to_base = (uint64_t)to;
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    edge = pages + 4096;
    mprotect(edge, 4096, PROT_NONE);
    uint64_t cx = 3, di = (uint64_t)edge - 1;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n lea 1f(%%rip), %%rbx\n mov %%rbx, %2\n cmp %%eax, %%eax\n"
                     "pushfq\n orq $0x100, (%%rsp)\n popfq\n 1: rep stosb\n"
                     "pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
                     : "+c"(cx), "+D"(di), "=m"(base) : "a"(7) : "rbx", "cc", "memory");
    for (int i = 0; i < n; i++) steps[i].di += to_base - (uint64_t)edge, steps[i].si = from_base;
    show("across a fault");
    return 0;
}

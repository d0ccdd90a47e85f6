/* Threads that run one after another: each reads the same lines, and writes its own.  No C library: what runs does not
 * depend on the machine. */
#define LINES 200
#define FLAGS (0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x200000) /* a thread; its word is 0 when it ends */
struct line {
    int value[16];
};
static volatile struct line common[LINES];
static struct line own[4][LINES];
static char stacks[4][8192] __attribute__((aligned(4096)));
static volatile int data = 1; /* Valgrind reads symbols of what has some */
static volatile int alive[4 * 16];

static long call(long nr, long a, long b, long c, long d, long e) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    return result;
}

__attribute__((noinline)) void reads_and_writes(struct line *to) {
    for (int i = 0; i < LINES; i++) to[i].value[3] = common[i].value[5];
}

__attribute__((noinline)) static void thread(int n) {
    alive[16 * n] = 1;
    long *top = (long *)(stacks[n] + sizeof stacks[n]);
    top[-1] = (long)own[n];
    long result;
    register long r10 __asm__("r10") = (long)&alive[16 * n], r8 __asm__("r8") = 0;
    __asm__ volatile("syscall\n\ttest %%eax, %%eax\n\tjnz 1f\n\tpop %%rdi\n\tcall reads_and_writes\n\tmov $60, %%eax\n\t"
                     "xor %%edi, %%edi\n\tsyscall\n1:"
                     : "=a"(result)
                     : "a"(56), "D"(FLAGS), "S"(top - 1), "d"(0), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    /* The kernel sets the word to 0 and wakes who waits. */
    while (alive[16 * n]) call(202, (long)&alive[16 * n], 0, 1, 0, 0);
}

static char stack[1 << 14] __attribute__((aligned(4096), used));

__attribute__((noinline, used)) static void run(void) {
    data++;
    reads_and_writes(own[3]);
    for (int n = 0; n < 3; n++) thread(n);
    reads_and_writes(own[3]);
    call(231, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

__attribute__((naked)) void _start(void) { __asm__("lea stack+16384(%rip), %rsp\n call run"); }

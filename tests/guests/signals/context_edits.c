// exit: 3
/* Handlers move the program: rip and rsp elsewhere, alignment checks, direction, from within system calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static char *other;
static int what;
static volatile int landed;
static uint64_t seen;
static volatile int code;
static volatile greg_t trap;

__attribute__((used, noreturn)) static void landing(uint64_t arg) {
    char here;
    printf("landed with %lx on %s\n", (long)arg, &here >= other && &here < other + 65536 ? "the other stack" : "the stack");
    fflush(stdout);
    landed = 1;
    _exit(3);
}

static void handler(int sig, siginfo_t *si, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)si;
    switch (what) {
    case 0: /* to another function, on another stack */
        g[REG_RIP] = (greg_t)landing;
        g[REG_RSP] = (greg_t)(other + 65536 - 8);
        g[REG_RDI] = 0xabcd;
        break;
    case 1: /* the result of a system call */
        printf("interrupted call: rax %lld after syscall %d\n", (long long)g[REG_RAX], memcmp((char *)g[REG_RIP] - 2, "\x0f\x05", 2) == 0);
        g[REG_RAX] = 4242;
        break;
    case 2: /* execute the call again, as the kernel would */
        g[REG_RIP] -= 2;
        g[REG_RAX] = SYS_getppid;
        break;
    case 3:
        code = si->si_code; /* the flag is still set: no library function may run */
        trap = g[REG_TRAPNO];
        g[REG_EFL] &= ~0x40000;
        break;
    case 4:
        seen = (uint64_t)g[REG_EFL];
        g[REG_EFL] |= 0x400;
        break;
    case 5: { /* 16 bytes of every general register */
        static const int all[] = {REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
                                  REG_RDI, REG_RSI, REG_RBX, REG_RDX, REG_RAX, REG_RCX, REG_RBP};
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) g[all[i]] = (greg_t)(g[all[i]] * 3 + 1);
        g[REG_RIP] += 2;
        break;
    }
    case 6: /* flags that only the kernel may set stay as they are */
        g[REG_EFL] |= 0x3000 | 0x4000 | 0x20000 | 0x200000;
        break;
    }
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    static const int used[] = {SIGUSR1, SIGILL, SIGBUS, SIGALRM};
    for (int i = 0; i < 4; i++) sigaction(used[i], &sa, 0);
    other = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    int p[2];
    char c;
    pipe(p);
    what = 1;
    long r;
    long nr = SYS_tgkill, pid = getpid(), tid = gettid();
    __asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(pid), "S"(tid), "d"((long)SIGUSR1) : "rcx", "r11", "memory");
    printf("its result: %ld\n", r);
    what = 2;
    __asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(pid), "S"(tid), "d"((long)SIGUSR1) : "rcx", "r11", "memory");
    printf("executed again as getppid: %d\n", r == getppid());
    (void)c;

    what = 3;
    static char bytes[16];
    uint64_t value;
    __asm__ volatile("pushfq\n orl $0x40000, (%%rsp)\n popfq\n mov 1(%1), %0\n pushfq\n andl $~0x40000, (%%rsp)\n popfq"
                     : "=r"(value) : "r"(bytes) : "cc", "memory");
    printf("alignment: code %d trap %lld, read %lx\n", code, (long long)trap, (long)value);

    what = 4;
    sa.sa_sigaction = handler;
    uint64_t flags;
    __asm__ volatile("syscall\n pushfq\n popq %1\n cld" : "=a"(r), "=r"(flags) : "a"(nr), "D"(pid), "S"(tid), "d"((long)SIGUSR1) : "rcx", "r11", "memory");
    printf("direction before %d after %d\n", !!(seen & 0x400), !!(flags & 0x400));

    what = 5;
    uint64_t out[16];
    memset(out, 0, sizeof out);
    __asm__ volatile("push %%rbp\n mov $1,%%eax\n mov $2,%%ebx\n mov $3,%%ecx\n mov $4,%%edx\n mov $5,%%esi\n mov $7,%%ebp\n mov $8,%%r8d\n"
                     "mov $9,%%r9d\n mov $10,%%r10d\n mov $11,%%r11d\n mov $12,%%r12d\n mov $13,%%r13d\n mov $14,%%r14d\n mov $15,%%r15d\n"
                     "push %%rdi\n mov $6, %%edi\n ud2\n xchg (%%rsp), %%rdi\n"
                     "mov %%rax,(%%rdi)\n mov %%rbx,8(%%rdi)\n mov %%rcx,16(%%rdi)\n mov %%rdx,24(%%rdi)\n mov %%rsi,32(%%rdi)\n mov %%rbp,40(%%rdi)\n"
                     "mov %%r8,48(%%rdi)\n mov %%r9,56(%%rdi)\n mov %%r10,64(%%rdi)\n mov %%r11,72(%%rdi)\n mov %%r12,80(%%rdi)\n mov %%r13,88(%%rdi)\n"
                     "mov %%r14,96(%%rdi)\n mov %%r15,104(%%rdi)\n pop %%rax\n mov %%rax, 112(%%rdi)\n pop %%rbp"
                     : : "D"(out) : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
    for (int i = 0; i < 15; i++) printf(" %ld", (long)out[i]);
    printf("\n");

    what = 6;
    __asm__ volatile("syscall\n pushfq\n popq %1\n pushq $0x202\n popfq" : "=a"(r), "=r"(flags) : "a"(nr), "D"(pid), "S"(tid), "d"((long)SIGUSR1) : "rcx", "r11", "memory");
    printf("flags %lx\n", (long)(flags & ~0x8d5));

    what = 0;
    raise(SIGUSR1);
    return 0;
}

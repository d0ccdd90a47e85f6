/* Handlers see the kernel's siginfo and a true context; edits to it take effect. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int hits;
static char *page;
static sigjmp_buf back;

static void fix(int sig, siginfo_t *si, void *v) {
    ucontext_t *uc = v;
    hits++;
    printf("sig %d code %d at page+%ld, write %d\n", sig, si->si_code, (long)((char *)si->si_addr - page),
           (int)(uc->uc_mcontext.gregs[REG_ERR] >> 1 & 1));
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}
static void skip(int sig, siginfo_t *si, void *v) {
    ucontext_t *uc = v;
    uint8_t *ip = (uint8_t *)uc->uc_mcontext.gregs[REG_RIP];
    printf("sig %d code %d, addr is rip %d, bytes %02x %02x\n", sig, si->si_code, si->si_addr == (void *)ip, ip[0], ip[1]);
    uc->uc_mcontext.gregs[REG_RIP] += 2;
    uc->uc_mcontext.gregs[REG_RBX] = 0x1234;
    uc->uc_mcontext.gregs[REG_EFL] |= 1;
    ((struct _libc_fpstate *)uc->uc_mcontext.fpregs)->_xmm[3].element[0] = 77;
}
static void jump(int sig) { siglongjmp(back, sig); }
static void sent(int sig, siginfo_t *si, void *v) {
    (void)v;
    printf("sent %d code %d own pid %d value %d\n", sig, si->si_code, si->si_pid == getpid(), si->si_value.sival_int);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = fix, .sa_flags = SA_SIGINFO};
    page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &sa, 0);
    page[123] = 7;
    printf("hits %d value %d\n", hits, page[123]);

    sa.sa_sigaction = skip;
    sigaction(SIGILL, &sa, 0);
    sigaction(SIGFPE, &sa, 0);
    uint64_t rbx, carry;
    uint32_t x3;
    __asm__ volatile("mov $5, %%ebx\n\tclc\n\tud2\n\tsetc %%al\n\tmovzx %%al, %1\n\tmov %%rbx, %0\n\tmovd %%xmm3, %2"
                     : "=&r"(rbx), "=&r"(carry), "=&r"(x3)::"rax", "rbx", "xmm3");
    printf("after ud2: rbx %lx carry %lu xmm3 %u\n", rbx, carry, x3);
    __asm__ volatile("xor %%edx,%%edx\n\txor %%ecx,%%ecx\n\tmov $9,%%eax\n\tdiv %%ecx" ::: "rax", "rcx", "rdx", "rbx", "cc");

    struct sigaction sj = {.sa_handler = jump};
    sigaction(SIGSEGV, &sj, 0);
    for (int i = 0; i < 3; i++) {
        int r = sigsetjmp(back, 1);
        if (!r) {
            volatile int *p = (int *)(uintptr_t)(16 + i);
            *p = 1;
        }
        printf("back with %d\n", r);
    }
    sa.sa_sigaction = sent;
    sigaction(SIGUSR1, &sa, 0);
    sigaction(SIGRTMIN + 2, &sa, 0);
    kill(getpid(), SIGUSR1);
    raise(SIGUSR1);
    union sigval v = {.sival_int = 42};
    sigqueue(getpid(), SIGRTMIN + 2, v);
    /* a jump to nowhere */
    if (!sigsetjmp(back, 1)) ((void (*)(void))(uintptr_t)0x10)();
    puts("back from nowhere");
    return 0;
}

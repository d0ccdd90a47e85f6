/* Encodings that compilers do not make: what the CPU does with them, it does translated too. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static sigjmp_buf back;
static struct {
    int signo, code;
    unsigned char *pc;
} got;

static void handler(int sig, siginfo_t *si, void *context) {
    got.signo = sig;
    got.code = si->si_code;
    got.pc = (unsigned char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    siglongjmp(back, 1);
}

#define CASE(what, bytes) {what, bytes, sizeof bytes - 1}
static const struct {
    const char *what, *bytes;
    unsigned size;
} cases[] = {
    CASE("void REX before gs:", "\x45\x65\x8b\x03"),                      /* mov eax, gs:[rbx] */
    CASE("void REX before gs:, address size", "\x4f\x65\x67\x48\x03\x03"), /* add rax, gs:[ebx] */
    CASE("two REX", "\x48\x41\x89\xd8"),                                  /* mov r8d, ebx */
    CASE("16 bytes", "\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x01\xd8"),
    CASE("16 bytes, lock", "\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\xf0\x01\xd8"),
    CASE("15 bytes", "\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x01\xd8"),
    CASE("lock, register", "\xf0\x01\xd8"),
    CASE("lock verw", "\x65\xf0\x0f\x00\x2b"),        /* mapped: a fault may be for the hypervisor to emulate, which differs */
    CASE("lock mov to cr0", "\xf0\x0f\x22\xc0"),
    CASE("mov to cr0", "\x0f\x22\xc0"),
    CASE("vpermq without W", "\xc4\xe3\x7d\x00\xc0\x1b"),
    CASE("vpermpd without W", "\xc4\xe3\x7d\x01\xc0\x4e"),
    CASE("kxorw, a ninth source", "\xc5\xb4\x47\xc9"),
    CASE("EVEX.b without rounding", "\x62\xf1\x7c\x38\x54\xc0"),
    CASE("EVEX.z without mask", "\x62\xf2\x7d\xa8\xdc\xc0"),
    CASE("EVEX.z without mask, add", "\x62\xf1\x7d\xa8\xfe\xc0"),
    CASE("call with data16 and REX.W", "\x66\x48\xe8\x00\x00\x00\x00\x58\x2c\x07"),
    CASE("F2 and F3 without effect", "\xf2\xf3\x01\xd8"),
};

static uint64_t run(unsigned char *code, uint64_t rbx, uint64_t vector[8]) {
    uint64_t rax = 5;
    register uint64_t r8 __asm__("r8") = 6;
    __asm__ volatile("vmovdqu (%[v]), %%ymm0\n\tsub $128, %%rsp\n\tcall *%[code]\n\tadd $128, %%rsp\n\tvmovdqu %%ymm0, (%[v])"
                     : "+a"(rax), "+r"(r8)
                     : [v] "D"(vector), [code] "S"(code), "b"(rbx)
                     : "memory", "rcx", "rdx", "xmm0", "cc");
    return rax + r8 * 1000;
}

int main(void) {
    static uint64_t data[8] = {0x1111, 0x2222, 0x3333, 0x4444};
    unsigned char *page = mmap(NULL, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGILL, &sa, NULL);
    sigaction(SIGSEGV, &sa, NULL);
    syscall(SYS_arch_prctl, ARCH_SET_GS, (uintptr_t)data & ~0xfffull);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t vector[8] = {1, 2, 3, 4};
        unsigned char *code = page + 128 * i;
        size_t n = cases[i].size;
        memcpy(code, cases[i].bytes, n);
        memset(code + n, 0x90, 16);
        code[n + 16] = 0xc3;
        memset(&got, 0, sizeof got);
        if (sigsetjmp(back, 1) == 0) {
            uint64_t r = run(code, (uintptr_t)data & 0xfff, vector);
            if (n == 10) r &= 0xff; /* the return address, which the call left there */
            printf("%s: %lx, %lx %lx %lx %lx\n", cases[i].what, (long)r, (long)vector[0], (long)vector[1], (long)vector[2],
                   (long)vector[3]);
        } else {
            printf("%s: signal %d code %d at %+ld\n", cases[i].what, got.signo, got.code, (long)(got.pc - code));
        }
    }

    /* gs: relative to RIP, code and operand far above what 32 bits reach. */
    unsigned char *high = mmap((void *)0x80000000000, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (high == MAP_FAILED) return 1;
    memcpy(high, "\x65\x48\x8b\x05\xf8\x0f\x00\x00\xc3", 9); /* mov rax, gs:[high + 0x1000] */
    syscall(SYS_arch_prctl, ARCH_SET_GS, 0x80);
    *(uint64_t *)(high + 0x1080) = 0x5555;
    uint64_t vector[8] = {0};
    memcpy(high + 0x80, "\x65\xdf\x2d\x79\x0f\x00\x00\xdf\x3f\xc3", 10); /* fild gs:[high + 0x1000], fistp [rdi] */
    if (sigsetjmp(back, 1) == 0)
        run(high + 0x80, 0, vector);
    printf("gs: and rip, x87: signal %d\n", got.signo);
    if (sigsetjmp(back, 1) == 0)
        printf("gs: and rip: %lx\n", (long)run(high, 0, vector));
    else
        printf("gs: and rip: signal %d\n", got.signo);

    /* gs: with pop, whose address counts from the popped RSP; and with cache line control. */
    memcpy(high, "\x6a\x09\x6a\x07\x65\x8f\x04\x24\x58\xc3", 10); /* push 9, push 7, pop gs:[rsp], pop rax */
    syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
    if (sigsetjmp(back, 1) == 0)
        printf("gs: and pop: %lx\n", (long)run(high, 0, vector));
    else
        printf("gs: and pop: signal %d\n", got.signo);
    memcpy(high, "\xd9\xe8\xdd\xd8\xd9\x35\xf6\x0f\x00\x00\xc3", 11); /* fld1, fstp, fnstenv [high + 0x1000] */
    int same = 0; /* AMD CPUs forget the address when another process runs in between */
    for (int i = 0; i < 1000 && !same; i++) {
        run(high, 0, vector);
        same = *(uint32_t *)(high + 0x100c) == (uint32_t)(uintptr_t)(high + 2);
    }
    printf("fnstenv and rip: %d\n", same);
    memcpy(high, "\x65\x0f\xae\x3d\xf8\x0f\x00\x00\xc3", 9); /* clflush gs:[high + 0x1000] */
    for (long base = 0; base <= 0x10000; base += 0x10000) {
        syscall(SYS_arch_prctl, ARCH_SET_GS, base);
        if (sigsetjmp(back, 1) == 0)
            printf("gs: and clflush: %lx\n", (long)run(high, 0, vector));
        else
            printf("gs: and clflush: signal %d\n", got.signo);
    }

    /* A store of a selector across the end of what can be written leaves nothing behind. */
    mprotect(high + 0x1000, 4096, PROT_NONE);
    syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
    memcpy(high, "\x8c\x23\xc3", 3); /* mov [rbx], fs */
    high[0xfff] = 0x77;
    if (sigsetjmp(back, 1) == 0)
        run(high, (uintptr_t)high + 0xfff, vector);
    printf("selector: signal %d, %x\n", got.signo, high[0xfff]);
    return 0;
}

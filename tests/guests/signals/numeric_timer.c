// flags: -O2
/* A 2 kHz timer under a numeric loop that keeps its state in x87, SSE, AVX, AVX-512 and mask registers: not a wrong bit.
 * The handlers use all of these themselves, nest, and one of them runs on another stack. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long ticks;
static int wide, avx;
static char stack_at[65536];

static void scribble(void) {
    __asm__ volatile("fninit\n fldpi\n fldpi\n fldl2e\n fld1\n fldl2t" ::: "memory");
    static const uint32_t mxcsr = 0x7f80;
    __asm__ volatile("ldmxcsr %0" ::"m"(mxcsr));
    if (wide)
        __asm__ volatile(".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
                         "vpternlogd $0xff, %zmm\\n, %zmm\\n, %zmm\\n\n .endr\n"
                         ".irp n,0,1,2,3,4,5,6,7\n kxnorq %k\\n, %k\\n, %k\\n\n .endr");
    else if (avx)
        __asm__ volatile(".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n vcmpps $15, %ymm\\n, %ymm\\n, %ymm\\n\n .endr");
}
static void tick(int sig) {
    ticks++;
    if (sig == SIGALRM) scribble();
    if (sig == SIGALRM && ticks % 5 == 0) raise(SIGUSR1);
    scribble();
}

/* State in registers only, from one asm to its end; the result depends on every element of it. */
static uint64_t work(int rounds, uint64_t out[40]) {
    static const float seeds[16] = {1.5f, 2.25f, -3.5f, 4.125f, 5, 6.5f, -7.25f, 8, 9.75f, 10, 11.5f, -12, 13, 14.25f, 15, 16.5f};
    static const float factor[16] = {.99f, 1.01f, .98f, 1.02f, .97f, 1.03f, .96f, 1.04f, .95f, 1.05f, .94f, 1.06f, .93f, 1.07f, .92f, 1.08f};
    memset(out, 0, 40 * 8);
    if (wide)
        __asm__ volatile("vmovups (%1), %%zmm0\n vmovups (%2), %%zmm20\n vmovaps %%zmm0, %%zmm31\n vmovaps %%zmm0, %%zmm7\n"
                         "mov $0x5a5a5a5a, %%eax\n kmovd %%eax, %%k3\n mov $0x0f0f3333, %%eax\n kmovd %%eax, %%k6\n"
                         "fld1\n fldpi\n fldz\n mov %3, %%ecx\n mov $12345, %%ebx\n"
                         "1: vmulps %%zmm20, %%zmm0, %%zmm0\n vaddps %%zmm31, %%zmm0, %%zmm0\n vpaddd %%zmm0, %%zmm7, %%zmm7%{%%k3%}\n"
                         "vprold $5, %%zmm7, %%zmm7\n kshiftrd $1, %%k3, %%k1\n kxord %%k6, %%k3, %%k3\n kxord %%k1, %%k6, %%k6\n"
                         "fadd %%st(1), %%st\n fmul %%st(2), %%st\n fxch %%st(1)\n fsqrt\n fadd %%st(2), %%st\n fxch %%st(1)\n"
                         "imul $69069, %%rbx\n add $1, %%rbx\n rol $7, %%rbx\n dec %%ecx\n jnz 1b\n"
                         "vmovups %%zmm0, (%0)\n vmovups %%zmm7, 64(%0)\n kmovq %%k3, %%rax\n mov %%rax, 128(%0)\n kmovq %%k6, %%rax\n mov %%rax, 136(%0)\n"
                         "mov %%rbx, 144(%0)\n fstpt 160(%0)\n fstpt 176(%0)\n fstpt 192(%0)"
                         ::"r"(out), "r"(seeds), "r"(factor), "r"(rounds) : "rax", "rbx", "rcx", "memory", "cc");
    else
        __asm__ volatile("movups (%1), %%xmm0\n movups (%2), %%xmm4\n movaps %%xmm0, %%xmm15\n pxor %%xmm7, %%xmm7\n"
                         "fld1\n fldpi\n fldz\n mov %3, %%ecx\n mov $12345, %%ebx\n"
                         "1: mulps %%xmm4, %%xmm0\n addps %%xmm15, %%xmm0\n paddd %%xmm0, %%xmm7\n"
                         "fadd %%st(1), %%st\n fmul %%st(2), %%st\n fxch %%st(1)\n fsqrt\n fadd %%st(2), %%st\n fxch %%st(1)\n"
                         "imul $69069, %%rbx\n add $1, %%rbx\n rol $7, %%rbx\n dec %%ecx\n jnz 1b\n"
                         "movups %%xmm0, (%0)\n movups %%xmm7, 64(%0)\n"
                         "mov %%rbx, 144(%0)\n fstpt 160(%0)\n fstpt 176(%0)\n fstpt 192(%0)"
                         ::"r"(out), "r"(seeds), "r"(factor), "r"(rounds) : "rbx", "rcx", "memory", "cc");
    uint64_t h = 5381;
    for (int i = 0; i < 40; i++) h = h * 31 + out[i];
    /* And what the compiler makes of it. */
    double s = 0;
    long double l = 1;
    float f = 0;
    for (int i = 1; i < rounds; i++) {
        s += 1.0 / i;
        l += 1.0L / ((long double)i * i);
        f += (float)s;
    }
    uint64_t bits;
    memcpy(&bits, &s, 8);
    h = h * 31 + bits;
    memcpy(&bits, &l, 8);
    h = h * 31 + bits;
    uint32_t low;
    memcpy(&low, &f, 4);
    return h * 31 + low;
}

int main(void) {
    uint32_t a, b, c, d;
    __cpuid(1, a, b, c, d);
    avx = c >> 28 & 1;
    __cpuid_count(7, 0, a, b, c, d);
    wide = b >> 16 & 1 && b >> 30 & 1;
    uint64_t out[40];
    uint64_t expected = work(50000, out);
    stack_t ss = {.ss_sp = stack_at, .ss_size = sizeof stack_at};
    sigaltstack(&ss, 0);
    struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigaction(SIGUSR1, &sa, 0);
    sigaction(SIGALRM, &sa, 0);
    struct itimerval it = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &it, 0);
    long wrong = 0, rounds = 0;
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    do {
        wrong += work(50000, out) != expected;
        rounds++;
        clock_gettime(CLOCK_MONOTONIC, &t1);
    } while (t1.tv_sec - t0.tv_sec < 2 || ticks < 100);
    printf("wide %d: result %016lx, wrong %ld, rounds %d, ticks %d\n", wide, (long)expected, wrong, rounds > 3, ticks >= 100);
    return 0;
}

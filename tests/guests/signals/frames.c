/* The frame as the kernel lays it out, and all state in it: seen by the handler, edited, restored. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in the kernel's asm/sigcontext.h, which cannot be included beside signal.h. */
struct legacy {
    uint16_t cwd, swd, twd, fop;
    uint64_t rip, rdp;
    uint32_t mxcsr, mxcr_mask, st_space[32], xmm_space[64], reserved[12];
    struct software {
        uint32_t magic1, extended_size;
        uint64_t xfeatures;
        uint32_t xstate_size, padding[7];
    } sw;
};
struct state {
    struct legacy fpstate;
    struct { uint64_t xfeatures, reserved[7]; } xstate_hdr;
};
struct context {
    unsigned long flags;
    struct context *link;
    stack_t stack;
    struct {
        uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, rip, eflags;
        uint16_t cs, gs, fs, ss;
        uint64_t err, trapno, oldmask, cr2;
        struct state *fpstate;
        uint64_t reserved[8];
    } mc;
    uint64_t mask;
};
_Static_assert(sizeof(struct legacy) == 512, "fxsave");
static unsigned features;
static int wide, edit;
static uint32_t least;

static uint64_t checksum(const void *p, size_t n) {
    const unsigned char *c = p;
    uint64_t h = 1469598103934665603ull;
    while (n--) h = (h ^ *c++) * 1099511628211ull;
    return h;
}
static uint32_t offset_of(int component) {
    uint32_t a, b, c, d;
    __cpuid_count(13, component, a, b, c, d);
    return b;
}

static void handler(int sig, siginfo_t *si, struct context *uc) {
    struct state *x = uc->mc.fpstate;
    struct software *sw = &x->fpstate.sw;
    uint32_t magic2;
    memcpy(&magic2, (char *)x + sw->xstate_size, 4);
    printf("signal %d: flags %lx link %p, aligned %ld, frame %% 16 = %ld\n", sig, uc->flags, (void *)uc->link,
           (long)((uintptr_t)x & 63), (long)((uintptr_t)uc & 15));
    printf(" magic %x %x sizes %d features %llx\n", sw->magic1 == 0x46505853u, magic2 == 0x46505845u,
           sw->extended_size == sw->xstate_size + 4, (unsigned long long)sw->xfeatures);
    printf(" size of xstate %u header features %llx\n", sw->xstate_size, (unsigned long long)x->xstate_hdr.xfeatures);
    printf(" fits in AT_MINSIGSTKSZ %d\n", (uint32_t)((char *)x + sw->extended_size - (char *)uc + 8) <= least);
    printf(" cs %x ss %x err %llx trap %llx\n", uc->mc.cs, uc->mc.ss, (unsigned long long)uc->mc.err, (unsigned long long)uc->mc.trapno);
    printf(" cwd %x swd %x twd %x fop %x mxcsr %x mask %x\n", x->fpstate.cwd, x->fpstate.swd, x->fpstate.twd, x->fpstate.fop,
           x->fpstate.mxcsr, x->fpstate.mxcr_mask);
    printf(" st %016lx xmm %016lx\n", (long)checksum(x->fpstate.st_space, 128), (long)checksum(x->fpstate.xmm_space, 256));
    for (int i = 2; i < 10; i++)
        if (sw->xfeatures >> i & 1 && i != 3 && i != 4) {
            uint32_t a, b, c, d;
            __cpuid_count(13, i, a, b, c, d);
            printf(" component %d: %u bytes at %u: %016lx\n", i, a, b, (long)checksum((char *)x + b, a));
        }
    printf(" info behind the frame %d\n", (char *)si - (char *)uc == sizeof *uc);
    printf(" registers %llx %llx %llx %llx flags %llx\n", (unsigned long long)uc->mc.r8, (unsigned long long)uc->mc.r15,
           (unsigned long long)uc->mc.bx, (unsigned long long)uc->mc.bp, (unsigned long long)uc->mc.eflags);
    uint32_t mxcsr;
    uint16_t cw;
    __asm__("stmxcsr %0\n fnstcw %1" : "=m"(mxcsr), "=m"(cw));
    printf(" in the handler: mxcsr %x control word %x\n", mxcsr, cw);
    if (edit) {
        uc->mc.eflags ^= 0xcd5; /* arithmetic flags and DF */
        uc->mc.r12 = 0x1212121212121212;
        x->fpstate.mxcsr = 0x9fc0;
        x->fpstate.cwd = 0x27f;
        x->fpstate.xmm_space[4 * 5] = 0x55555555;
        if (edit == 1) {
            ((uint32_t *)((char *)x + offset_of(2)))[4 * 3] = 0x33333333; /* ymm3, high half */
            if (sw->xfeatures >> 5 & 1) {
                ((uint64_t *)((char *)x + offset_of(5)))[2] = 0x2222; /* k2 */
                ((uint32_t *)((char *)x + offset_of(6)))[8 * 4] = 0x44444444; /* zmm4, high half */
                ((uint32_t *)((char *)x + offset_of(7)))[16 * 1] = 0x17171717; /* zmm17 */
            }
        }
        if (edit == 2) sw->magic1 = 0;            /* legacy part alone: the rest becomes initial */
        if (edit == 3) x->xstate_hdr.xfeatures = 2; /* x87 and the rest initial */
        if (edit == 4) uc->mc.fpstate = 0;        /* everything initial */
    }
    uc->mc.rip += 2;
}

static uint8_t image[64 * 4] __attribute__((aligned(64))), after[5][64];
static uint64_t regs[8];
static uint32_t mxcsr;
static uint16_t control;

static void one(int how) {
    edit = how;
    for (unsigned i = 0; i < sizeof image; i++) image[i] = (uint8_t)(i * 7 + how);
    uint32_t set = 0x5f80;
    uint16_t cw = 0x77f;
    memset(after, 0, sizeof after);
    memset(regs, 0, sizeof regs);
    __asm__ volatile("vzeroall\n fninit\n ldmxcsr %0\n fldcw %1\n fldpi\n fld1\n fldln2" ::"m"(set), "m"(cw) : "memory");
    if (wide)
        __asm__ volatile("kxorq %k0, %k0, %k0\n kxorq %k1, %k1, %k1\n kxorq %k3, %k3, %k3\n kxorq %k4, %k4, %k4\n kxorq %k5, %k5, %k5\n"
                         "kxorq %k6, %k6, %k6\n kxorq %k7, %k7, %k7\n"
                         ".irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n vpxorq %zmm\\n, %zmm\\n, %zmm\\n\n .endr");
    if (wide)
        __asm__ volatile("vmovdqu64 (%0), %%zmm3\n vmovdqu64 64(%0), %%zmm4\n vmovdqu64 128(%0), %%zmm5\n vmovdqu64 192(%0), %%zmm17\n"
                         "mov $0x1234567, %%eax\n kmovd %%eax, %%k2" ::"r"(image) : "rax", "memory");
    else
        __asm__ volatile("vmovdqu (%0), %%ymm3\n vmovdqu 64(%0), %%ymm4\n vmovdqu 128(%0), %%ymm5" ::"r"(image) : "memory");
    __asm__ volatile("push %%rbp\n mov $0x8888, %%r8d\n mov $0xffff1515, %%r15d\n mov $0xbbbb, %%ebx\n mov $0xbeef, %%ebp\n mov $1, %%r12d\n"
                     "cmp %%eax, %%eax\n stc\n ud2\n pop %%rbp\n pushfq\n popq %0\n cld\n mov %%r12, %1\n mov %%r8, %2"
                     : "=m"(regs[0]), "=m"(regs[1]), "=m"(regs[2])::"rax", "rbx", "r8", "r12", "r15", "cc", "memory");
    __asm__ volatile("stmxcsr %0\n fnstcw %1" : "=m"(mxcsr), "=m"(control));
    if (wide)
        __asm__ volatile("vmovdqu64 %%zmm3, (%0)\n vmovdqu64 %%zmm4, 64(%0)\n vmovdqu64 %%zmm5, 128(%0)\n vmovdqu64 %%zmm17, 192(%0)\n"
                         "kmovq %%k2, %%rax\n mov %%rax, 256(%0)" ::"r"(after) : "rax", "memory");
    else
        __asm__ volatile("vmovdqu %%ymm3, (%0)\n vmovdqu %%ymm4, 64(%0)\n vmovdqu %%ymm5, 128(%0)" ::"r"(after) : "memory");
    uint64_t st[14] = {0};
    __asm__ volatile("fnsave %0" : "=m"(st));
    printf("edit %d: flags %lx r12 %lx r8 %lx mxcsr %x control %x tags %x st %016lx\n", how, (long)(regs[0] & 0xfff), (long)regs[1],
           (long)regs[2], mxcsr, control, (unsigned)(st[1] & 0xffff), (long)checksum((char *)st + 28, 80));
    for (int i = 0; i < 5; i++) printf(" %016lx", (long)checksum(after[i], 64));
    printf("\n");
}

int main(void) {
    uint32_t a, b, c, d;
    setvbuf(stdout, 0, _IONBF, 0);
    least = (uint32_t)getauxval(AT_MINSIGSTKSZ);
    printf("AT_MINSIGSTKSZ %u\n", least);
    __cpuid(1, a, b, c, d);
    features = c;
    if (!(features >> 28 & 1)) return 0; /* no AVX: nothing to compare */
    __cpuid_count(7, 0, a, b, c, d);
    wide = b >> 16 & 1 && b >> 30 & 1;
    struct sigaction sa = {.sa_handler = (void (*)(int))handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &sa, 0);
    for (int how = 0; how < 5; how++) one(how);
    /* A second signal while one is handled finds the state of the handler, which starts with the initial one. */
    unsigned long features_asked = 0;
    long r = syscall(SYS_arch_prctl, 0x1022 /* ARCH_GET_XCOMP_PERM */, &features_asked);
    printf("permitted %ld %lx\n", r, features_asked);
    r = syscall(SYS_arch_prctl, 0x1021 /* ARCH_GET_XCOMP_SUPP */, &features_asked);
    printf("supported %ld %lx\n", r, features_asked);
    r = syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* tile data */);
    printf("tiles asked for: %ld\n", r);
    edit = 0;
    one(0);
    return 0;
}

/* What the CPU and the kernel let programs use of it: asked once, before the program runs, because a process
 * can have cpuid fault (arch_prctl ARCH_SET_CPUID).  Intel SDM volume 1, 13.2: xgetbv, and the leaf of the
 * state components, exist if the kernel has set CR4.OSXSAVE. */
#include <cpuid.h>

#include "runtime/base/cpu.h"

#define OSXSAVE       (1u << 27)
#define XGETBV_1      (1u << 2)
#define STATE_LEAF    13
#define FEATURES_LEAF 7
#define AVX_STATE     0x6ull
#define AVX512_STATE  0xe6ull
#define HYGON_EBX     0x6f677948u /* "Hygo": AMD's cores */
#define ZEN_4_FAMILY  0x19u

static struct rt_cpu cpu;

static void ask(struct rt_cpu *c) {
    u32 max, a, b, k, d, lo, hi, features = 0;
    __cpuid(0, max, b, k, d);
    c->intel = b == signature_INTEL_ebx && k == signature_INTEL_ecx;
    c->amd = b == signature_AMD_ebx || b == HYGON_EBX;
    /* Intel's CPUs answer leaves above the last with the last one's values. */
    if (max >= FEATURES_LEAF) __cpuid_count(FEATURES_LEAF, 0, a, features, k, d);
    __cpuid(1, a, b, k, d);
    u32 family = (a >> 8 & 15) + (a >> 20 & 255); /* of CPUs whose base family is 15, as AMD's are */
    c->outer_first = c->amd && family >= ZEN_4_FAMILY;
    if (!(k & OSXSAVE)) return;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    c->xcr0 = (u64)hi << 32 | lo;
    __cpuid_count(STATE_LEAF, 1, a, b, k, d);
    c->tells_used = a & XGETBV_1;
    for (u32 i = 2; i < RT_CPU_STATES; i++) {
        if (!(c->xcr0 >> i & 1)) continue;
        __cpuid_count(STATE_LEAF, i, a, b, k, d);
        c->state[i] = (struct rt_cpu_state){.size = a, .offset = b, .aligned = k >> 1 & 1};
    }
    if ((features & bit_AVX512F) && (c->xcr0 & AVX512_STATE) == AVX512_STATE)
        c->vectors = RT_ZMM;
    else if ((c->xcr0 & AVX_STATE) == AVX_STATE)
        c->vectors = RT_YMM;
    c->wide_masks = c->vectors == RT_ZMM && (features & bit_AVX512BW);
    c->avx2 = c->vectors == RT_YMM && (features & bit_AVX2);
}

const struct rt_cpu *rt_cpu(void) {
    /* The first caller is alone: sig_xstate_init, before the first thread. */
    if (!cpu.known) {
        ask(&cpu);
        cpu.known = true;
    }
    return &cpu;
}

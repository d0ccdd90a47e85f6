/* The CPU as programs may use it. */
#ifndef RT_CPU_H
#define RT_CPU_H
#include "runtime/base/rt.h"

enum { RT_XMM, RT_YMM, RT_ZMM };
#define RT_CPU_STATES 63

/* One state component of XSAVE (SDM volume 1, 13.4): its place in the standard format, and whether the compacted
 * one aligns it to 64 bytes. */
struct rt_cpu_state {
    u32 size, offset;
    bool aligned;
};

struct rt_cpu {
    bool known, intel, amd;
    /* AMD's families from 0x19 on (Zen 4, Zen 5): a far return to another privilege level and an iret look at SS, the
     * outermost word of their frame, first, and a call at the stack before the target. */
    bool outer_first;
    bool wide_masks; /* AVX512BW: mask registers have 64 bits */
    bool avx2;       /* 256 bits for integers, and AVX-512 is not in use */
    bool tells_used; /* xgetbv answers which components are not in their initial state (SDM volume 1, 13.2, 13.6) */
    int vectors;     /* RT_XMM, RT_YMM, RT_ZMM: the widest registers */
    u64 xcr0;        /* 0: no XSAVE; the state is that of FXSAVE */
    struct rt_cpu_state state[RT_CPU_STATES];
};

const struct rt_cpu *rt_cpu(void);

/* The selector of CS, which is the guest's, too. */
static inline u16 rt_cs(void) {
    u16 cs;
    __asm__("mov %%cs, %0" : "=r"(cs));
    return cs;
}
#endif

/* Words that may not be there, read in line: a call of rt_copy_from takes longer than what is done with one. */
#ifndef INTERPOSE_PEEK_H
#define INTERPOSE_PEEK_H

#include "runtime/base/rt.h"

/* The word at an address, or none where there is no memory (the fault goes on behind the instruction:
 * signals/signal.c). */
#define RT_PEEK(name, type)                                                                                            \
    static inline type name(u64 at, type none) {                                                                       \
        type word = none;                                                                                              \
        __asm__ volatile("1: mov %1, %0\n2:\n\t"                                                                       \
                         ".pushsection rt_fixups, \"a\", @progbits\n\t.quad 1b, 2b\n\t.popsection"                     \
                         : "+r"(word)                                                                                  \
                         : "m"(*(const type *)at));                                                                    \
        return word;                                                                                                   \
    }
RT_PEEK(rt_peek32, u32)
RT_PEEK(rt_peek64, u64)
#undef RT_PEEK

/* Does the word below an address hold this value? */
static inline bool rt_below_is(u64 above, u64 value) {
    __asm__ goto("1: cmp %0, %1\n\tjne %l[no]\n\t"
                 ".pushsection rt_fixups, \"a\", @progbits\n\t.quad 1b, %l[no]\n\t.popsection"
                 :
                 : "r"(value), "m"(((const u64 *)above)[-1])
                 : "cc"
                 : no);
    return true;
no:
    return false;
}

#endif

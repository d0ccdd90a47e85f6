/* Replacement functions: how they are named and how they reach the runtime.
 *
 * The image has no libc beneath it and no relocation; it runs as guest code.
 * Names follow docs/spec/redirection.md section 1 (_vgr + class + priority), markers
 * section 1, requests section 2.
 */
#ifndef INTERPOSE_STUBS_H
#define INTERPOSE_STUBS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/heap_abi.h"

/* Integer code only: vector registers would be checked for nothing. */
#pragma GCC target("general-regs-only")
#pragma GCC optimize("no-tree-vectorize", "omit-frame-pointer")

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint64_t u64;

#define C_LIB    libcZdsoZa
#define SOMALLOC VgSoSynsomalloc
#define STDCXX   libstdcZpZpZa
#define LIBCXX   libcZpZpZa
#define LD_SO    ldZhlinuxZhx86Zh64ZdsoZd2

#define PASTE_(tag, enc, so, fn) _vgr##tag##enc##_##so##_##fn
#define PASTE(tag, enc, so, fn)  PASTE_(tag, enc, so, fn)
#define SYM(tag, so, fn)         PASTE(tag, ZU, so, fn)
#define SYM_ZZ(tag, so, fn)      PASTE(tag, ZZ, so, fn)
#define TEXT_(x)                 #x
#define TEXT(x)                  TEXT_(x)
/* no_reorder: of two rules for one address the first symbol's holds, as where
 * the C library has one body for memalign and aligned_alloc. */
#define PUBLIC __attribute__((visibility("default"), used, noinline, no_reorder))
/* One more name for a function defined in this file. */
#define ALSO(name, body)                                                                                               \
    extern __typeof(body) name __attribute__((alias(TEXT(body)), visibility("default"), copy(body)))

/* The C library's bodies for one kind of CPU each. A static program calls them by
 * addresses that it chose at its start; in its symbol table they have these names
 * (`__strlen_evex`, `__memcpy_avx_unaligned_erms`). Written out by family, because
 * `__memcpy_*` would also take `__memcpy_chk`, which has other arguments. */
#define VARIANTS(tag, fn, body)                                                                                        \
    ALSO(SYM_ZZ(tag, NONE, ZuZu##fn##ZussZa), body); /* sse2, ssse3 */                                                 \
    ALSO(SYM_ZZ(tag, NONE, ZuZu##fn##ZuavxZa), body);                                                                  \
    ALSO(SYM_ZZ(tag, NONE, ZuZu##fn##ZuevexZa), body)
#define ERMS(tag, fn, body)    ALSO(SYM_ZZ(tag, NONE, ZuZu##fn##ZuermsZa), body)
#define GENERIC(tag, fn, body) ALSO(SYM_ZZ(tag, NONE, ZuZu##fn##Zugeneric), body)

/* Macros, not functions: an inlined function would show as a frame of its own
 * in the stack of every error met here. */
#define request(code, a, b, c, d, e)                                                                                   \
    ({                                                                                                                 \
        u64 words_[6] = {(code), (a), (b), (c), (d), (e)}, result_;                                                    \
        __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\t"                                    \
                         "rolq $51, %%rdi\n\txchgq %%rbx, %%rbx"                                                       \
                         : "=d"(result_)                                                                               \
                         : "a"(words_), "d"(0ull)                                                                      \
                         : "cc", "memory");                                                                            \
        result_;                                                                                                       \
    })

/* A branch on the value, so that an undefined one is reported here, by name. */
#define look_at(value)                                                                                                 \
    do {                                                                                                               \
        u64 looked_at_ = (value);                                                                                      \
        __asm__ volatile("testq %0, %0\n\tjz 1f\n1:" : : "r"(looked_at_) : "cc");                                      \
    } while (0)

/* What a branch is to look at, made of several conditions without one of their own: what it is tested for counts as
 * defined afterwards, they do not. */
#define one_condition(value)                                                                                           \
    ({                                                                                                                 \
        int condition_ = (value);                                                                                      \
        __asm__("" : "+r"(condition_));                                                                                \
        condition_;                                                                                                    \
    })
/* Returns from a comparison, where one string ends. */
#define return_if_ended(x, y)                                                                                          \
    do {                                                                                                               \
        if (!(x)) return -((y) != 0);                                                                                  \
        if (!(y)) return 1;                                                                                            \
    } while (0)
/* Returns -1 from a comparison, where x is less; by a branch, so that the answer is defined: an undefined character is
 * told here, and not again by who tests the answer. */
#define return_less(x, y)                                                                                              \
    do {                                                                                                               \
        if ((x) < (y)) {                                                                                               \
            int less_ = -1;                                                                                            \
            __asm__ volatile("" : "+r"(less_)); /* no conditional move */                                              \
            return less_;                                                                                              \
        }                                                                                                              \
    } while (0)
/* The same where they differ. */
#define return_order(x, y)                                                                                             \
    do {                                                                                                               \
        return_less(x, y);                                                                                             \
        if ((x) > (y)) return 1;                                                                                       \
    } while (0)

#endif

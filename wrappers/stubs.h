/* Replacement functions: how they are named and how they reach the runtime.
 *
 * The image has no libc beneath it and no relocation; it runs as guest code.
 * Names follow client-requests.md section 7 (_vgr + class + priority), markers
 * section 1, requests section 2.
 */
#ifndef INTERPOSE_STUBS_H
#define INTERPOSE_STUBS_H

#include <stddef.h>
#include <stdint.h>

#include "heap_abi.h"

/* Integer code only: vector registers would be checked for nothing. */
#pragma GCC target("general-regs-only")
#pragma GCC optimize("no-tree-vectorize", "omit-frame-pointer")

typedef uint8_t u8;
typedef uint64_t u64;

#define C_LIB libcZdsoZa
#define SOMALLOC VgSoSynsomalloc
#define STDCXX libstdcZpZpZa
#define LIBCXX libcZpZpZa
#define LD_SO ldZhlinuxZhx86Zh64ZdsoZd2

#define PASTE_(tag, enc, so, fn) _vgr##tag##enc##_##so##_##fn
#define PASTE(tag, enc, so, fn) PASTE_(tag, enc, so, fn)
#define SYM(tag, so, fn) PASTE(tag, ZU, so, fn)
#define SYM_ZZ(tag, so, fn) PASTE(tag, ZZ, so, fn)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define PUBLIC __attribute__((visibility("default"), used, noinline))
/* One more name for a function defined in this file. */
#define ALSO(name, body) \
    extern __typeof(body) name __attribute__((alias(TEXT(body)), visibility("default"), copy(body)))

static inline __attribute__((always_inline)) u64 request(u64 code, u64 a, u64 b, u64 c, u64 d,
                                                         u64 e) {
    u64 words[6] = {code, a, b, c, d, e};
    u64 result;
    __asm__ volatile(
        "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
        "xchgq %%rbx, %%rbx"
        : "=d"(result)
        : "a"(words), "d"(0ull)
        : "cc", "memory");
    return result;
}

/* A branch on the value, so that an undefined one is reported here, by name. */
static inline __attribute__((always_inline)) void look_at(u64 value) {
    __asm__ volatile("testq %0, %0\n\tjz 1f\n1:" : : "r"(value) : "cc");
}

#endif

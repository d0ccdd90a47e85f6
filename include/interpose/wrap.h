/* Wrappers and replacements: names that say what they stand for, and the way to the original.
 *
 * Include <interpose/interpose.h>.  A wrapper is a function whose name names an object (by its soname, NONE for
 * objects without one) and a function of it; it may be linked into the program or preloaded:
 *
 *     int INTERPOSE_WRAP_SONAME_FNNAME_ZU(NONE, foo)(int x, int y) {
 *         int result;
 *         InterposeOrigFn orig;
 *         INTERPOSE_GET_ORIG_FN(orig);             // before anything else that may be wrapped is called
 *         INTERPOSE_CALL_FN_W_WW(result, orig, x, y);
 *         return result;
 *     }
 *
 * In C++, declare wrappers extern "C".  ZU: the soname is Z-encoded, the function's name is literal; ZZ: both are
 * Z-encoded.  Za *  Zc :  Zd .  Zh -  Zp +  Zs space  Zu _  ZA @  ZD $  ZL (  ZP %  ZR )  ZS /  ZZ Z
 */
#ifndef INTERPOSE_WRAP_H
#define INTERPOSE_WRAP_H

#include "request.h"

#define INTERPOSE_PASTE_(prefix, so, fn) prefix##so##_##fn
#define INTERPOSE_WRAP_SONAME_FNNAME_ZU(so, fn) INTERPOSE_PASTE_(_vgw00000ZU_, so, fn)
#define INTERPOSE_WRAP_SONAME_FNNAME_ZZ(so, fn) INTERPOSE_PASTE_(_vgw00000ZZ_, so, fn)
#define INTERPOSE_REPLACE_SONAME_FNNAME_ZU(so, fn) INTERPOSE_PASTE_(_vgr00000ZU_, so, fn)
#define INTERPOSE_REPLACE_SONAME_FNNAME_ZZ(so, fn) INTERPOSE_PASTE_(_vgr00000ZZ_, so, fn)

#if INTERPOSE_ACTIVE

/* The original function, callable only by INTERPOSE_CALL_FN_*. */
typedef struct {
    unsigned long nraddr;
} InterposeOrigFn;

#define INTERPOSE_GET_ORIG_FN(lval) \
    do { \
        unsigned long interpose_nraddr_; \
        __asm__ volatile(INTERPOSE_MARK_NRADDR_ : "=a"(interpose_nraddr_) : : "cc", "memory"); \
        (lval).nraddr = interpose_nraddr_; \
    } while (0)

/* What a called function may change beyond the integer registers. */
#ifdef __SSE__
#ifdef __x86_64__
#ifdef __AVX512F__
#define INTERPOSE_VECTORS_ \
    , "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
      "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", \
      "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", \
      "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", \
      "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define INTERPOSE_VECTORS_ \
    , "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
      "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#endif
#else
#define INTERPOSE_VECTORS_ , "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"
#endif
#else
#define INTERPOSE_VECTORS_
#endif

/* To ask for the frame's address makes the compiler keep a frame pointer, and find the frame by it: while the stack
 * pointer is moved, debuggers, exceptions and stack traces still do. */
#define INTERPOSE_FRAME_ "r"(__builtin_frame_address(0))

#ifdef __x86_64__

/* Below the red zone, aligned to 16 at the call; words 7 and up on the stack, the rest in registers. */
#define INTERPOSE_SETUP_0_ \
    "subq $128, %%rsp\n\t"
#define INTERPOSE_SETUP_1_ \
    "subq $128, %%rsp\n\tmovq 8(%%rax), %%rdi\n\t"
#define INTERPOSE_SETUP_2_ \
    "subq $128, %%rsp\n\tmovq 8(%%rax), %%rdi\n\tmovq 16(%%rax), %%rsi\n\t"
#define INTERPOSE_SETUP_3_ \
    "subq $128, %%rsp\n\tmovq 8(%%rax), %%rdi\n\tmovq 16(%%rax), %%rsi\n\t" \
    "movq 24(%%rax), %%rdx\n\t"
#define INTERPOSE_SETUP_4_ \
    "subq $128, %%rsp\n\tmovq 8(%%rax), %%rdi\n\tmovq 16(%%rax), %%rsi\n\t" \
    "movq 24(%%rax), %%rdx\n\tmovq 32(%%rax), %%rcx\n\t"
#define INTERPOSE_SETUP_5_ \
    "subq $128, %%rsp\n\tmovq 8(%%rax), %%rdi\n\tmovq 16(%%rax), %%rsi\n\t" \
    "movq 24(%%rax), %%rdx\n\tmovq 32(%%rax), %%rcx\n\tmovq 40(%%rax), %%r8\n\t"
#define INTERPOSE_SETUP_6_ \
    "subq $128, %%rsp\n\tmovq 8(%%rax), %%rdi\n\tmovq 16(%%rax), %%rsi\n\t" \
    "movq 24(%%rax), %%rdx\n\tmovq 32(%%rax), %%rcx\n\tmovq 40(%%rax), %%r8\n\t" \
    "movq 48(%%rax), %%r9\n\t"
#define INTERPOSE_SETUP_7_ \
    "subq $136, %%rsp\n\tpushq 56(%%rax)\n\tmovq 8(%%rax), %%rdi\n\tmovq 16(%%rax), %%rsi\n\t" \
    "movq 24(%%rax), %%rdx\n\tmovq 32(%%rax), %%rcx\n\tmovq 40(%%rax), %%r8\n\t" \
    "movq 48(%%rax), %%r9\n\t"
#define INTERPOSE_SETUP_8_ \
    "subq $128, %%rsp\n\tpushq 64(%%rax)\n\tpushq 56(%%rax)\n\tmovq 8(%%rax), %%rdi\n\t" \
    "movq 16(%%rax), %%rsi\n\tmovq 24(%%rax), %%rdx\n\tmovq 32(%%rax), %%rcx\n\t" \
    "movq 40(%%rax), %%r8\n\tmovq 48(%%rax), %%r9\n\t"
#define INTERPOSE_SETUP_9_ \
    "subq $136, %%rsp\n\tpushq 72(%%rax)\n\tpushq 64(%%rax)\n\tpushq 56(%%rax)\n\t" \
    "movq 8(%%rax), %%rdi\n\tmovq 16(%%rax), %%rsi\n\tmovq 24(%%rax), %%rdx\n\t" \
    "movq 32(%%rax), %%rcx\n\tmovq 40(%%rax), %%r8\n\tmovq 48(%%rax), %%r9\n\t"
#define INTERPOSE_SETUP_10_ \
    "subq $128, %%rsp\n\tpushq 80(%%rax)\n\tpushq 72(%%rax)\n\tpushq 64(%%rax)\n\t" \
    "pushq 56(%%rax)\n\tmovq 8(%%rax), %%rdi\n\tmovq 16(%%rax), %%rsi\n\t" \
    "movq 24(%%rax), %%rdx\n\tmovq 32(%%rax), %%rcx\n\tmovq 40(%%rax), %%r8\n\t" \
    "movq 48(%%rax), %%r9\n\t"
#define INTERPOSE_SETUP_11_ \
    "subq $136, %%rsp\n\tpushq 88(%%rax)\n\tpushq 80(%%rax)\n\tpushq 72(%%rax)\n\t" \
    "pushq 64(%%rax)\n\tpushq 56(%%rax)\n\tmovq 8(%%rax), %%rdi\n\tmovq 16(%%rax), %%rsi\n\t" \
    "movq 24(%%rax), %%rdx\n\tmovq 32(%%rax), %%rcx\n\tmovq 40(%%rax), %%r8\n\t" \
    "movq 48(%%rax), %%r9\n\t"
#define INTERPOSE_SETUP_12_ \
    "subq $128, %%rsp\n\tpushq 96(%%rax)\n\tpushq 88(%%rax)\n\tpushq 80(%%rax)\n\t" \
    "pushq 72(%%rax)\n\tpushq 64(%%rax)\n\tpushq 56(%%rax)\n\tmovq 8(%%rax), %%rdi\n\t" \
    "movq 16(%%rax), %%rsi\n\tmovq 24(%%rax), %%rdx\n\tmovq 32(%%rax), %%rcx\n\t" \
    "movq 40(%%rax), %%r8\n\tmovq 48(%%rax), %%r9\n\t"
/* rax: the words, the original first. */
#define INTERPOSE_CALL_(lval, orig, setup, n, puts) \
    do { \
        volatile unsigned long interpose_words_[(n) + 1]; \
        unsigned long interpose_result_; \
        interpose_words_[0] = (orig).nraddr; \
        puts \
        __asm__ volatile("movq %%rsp, %%r14\n\tandq $-16, %%rsp\n\t" setup \
                         "movq (%%rax), %%rax\n\t" INTERPOSE_MARK_CALL_ "movq %%r14, %%rsp" \
                         : "=a"(interpose_result_) \
                         : "a"(&interpose_words_[0]), INTERPOSE_FRAME_ \
                         : "cc", "memory", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", \
                           "r14" INTERPOSE_VECTORS_); \
        lval = (__typeof__(lval))interpose_result_; \
    } while (0)

#else /* 32-bit x86: every word on the stack */

#define INTERPOSE_SETUP_0_ ""
#define INTERPOSE_SETUP_1_ \
    "subl $12, %%esp\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_2_ \
    "subl $8, %%esp\n\tpushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_3_ \
    "subl $4, %%esp\n\tpushl 12(%%eax)\n\tpushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_4_ \
    "pushl 16(%%eax)\n\tpushl 12(%%eax)\n\tpushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_5_ \
    "subl $12, %%esp\n\tpushl 20(%%eax)\n\tpushl 16(%%eax)\n\tpushl 12(%%eax)\n\t" \
    "pushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_6_ \
    "subl $8, %%esp\n\tpushl 24(%%eax)\n\tpushl 20(%%eax)\n\tpushl 16(%%eax)\n\t" \
    "pushl 12(%%eax)\n\tpushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_7_ \
    "subl $4, %%esp\n\tpushl 28(%%eax)\n\tpushl 24(%%eax)\n\tpushl 20(%%eax)\n\t" \
    "pushl 16(%%eax)\n\tpushl 12(%%eax)\n\tpushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_8_ \
    "pushl 32(%%eax)\n\tpushl 28(%%eax)\n\tpushl 24(%%eax)\n\tpushl 20(%%eax)\n\t" \
    "pushl 16(%%eax)\n\tpushl 12(%%eax)\n\tpushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_9_ \
    "subl $12, %%esp\n\tpushl 36(%%eax)\n\tpushl 32(%%eax)\n\tpushl 28(%%eax)\n\t" \
    "pushl 24(%%eax)\n\tpushl 20(%%eax)\n\tpushl 16(%%eax)\n\tpushl 12(%%eax)\n\t" \
    "pushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_10_ \
    "subl $8, %%esp\n\tpushl 40(%%eax)\n\tpushl 36(%%eax)\n\tpushl 32(%%eax)\n\t" \
    "pushl 28(%%eax)\n\tpushl 24(%%eax)\n\tpushl 20(%%eax)\n\tpushl 16(%%eax)\n\t" \
    "pushl 12(%%eax)\n\tpushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_11_ \
    "subl $4, %%esp\n\tpushl 44(%%eax)\n\tpushl 40(%%eax)\n\tpushl 36(%%eax)\n\t" \
    "pushl 32(%%eax)\n\tpushl 28(%%eax)\n\tpushl 24(%%eax)\n\tpushl 20(%%eax)\n\t" \
    "pushl 16(%%eax)\n\tpushl 12(%%eax)\n\tpushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_SETUP_12_ \
    "pushl 48(%%eax)\n\tpushl 44(%%eax)\n\tpushl 40(%%eax)\n\tpushl 36(%%eax)\n\t" \
    "pushl 32(%%eax)\n\tpushl 28(%%eax)\n\tpushl 24(%%eax)\n\tpushl 20(%%eax)\n\t" \
    "pushl 16(%%eax)\n\tpushl 12(%%eax)\n\tpushl 8(%%eax)\n\tpushl 4(%%eax)\n\t"
#define INTERPOSE_CALL_(lval, orig, setup, n, puts) \
    do { \
        volatile unsigned long interpose_words_[(n) + 1]; \
        unsigned long interpose_result_; \
        interpose_words_[0] = (orig).nraddr; \
        puts \
        __asm__ volatile("movl %%esp, %%edi\n\tandl $-16, %%esp\n\t" setup \
                         "movl (%%eax), %%eax\n\t" INTERPOSE_MARK_CALL_ "movl %%edi, %%esp" \
                         : "=a"(interpose_result_) \
                         : "a"(&interpose_words_[0]), INTERPOSE_FRAME_ \
                         : "cc", "memory", "ecx", "edx", "edi" INTERPOSE_VECTORS_); \
        lval = (__typeof__(lval))interpose_result_; \
    } while (0)

#endif

/* One word of a call; statements instead of an initialiser, for C89 and C++98 have no macros of many arguments. */
#define INTERPOSE_PUT_(n, word) interpose_words_[n] = INTERPOSE_WORD_(word);

/* Arguments and results are words: integers and pointers, no floating point, no structures by value. */
#define INTERPOSE_CALL_FN_W_v(lval, orig) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_0_, 0, (void)0;)
#define INTERPOSE_CALL_FN_W_W(lval, orig, a1) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_1_, 1, INTERPOSE_PUT_(1, a1))
#define INTERPOSE_CALL_FN_W_WW(lval, orig, a1, a2) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_2_, 2, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2))
#define INTERPOSE_CALL_FN_W_WWW(lval, orig, a1, a2, a3) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_3_, 3, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3))
#define INTERPOSE_CALL_FN_W_WWWW(lval, orig, a1, a2, a3, a4) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_4_, 4, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3) INTERPOSE_PUT_(4, a4))
#define INTERPOSE_CALL_FN_W_5W(lval, orig, a1, a2, a3, a4, a5) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_5_, 5, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3) INTERPOSE_PUT_(4, a4) INTERPOSE_PUT_(5, a5))
#define INTERPOSE_CALL_FN_W_6W(lval, orig, a1, a2, a3, a4, a5, a6) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_6_, 6, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3) INTERPOSE_PUT_(4, a4) INTERPOSE_PUT_(5, a5) INTERPOSE_PUT_(6, a6))
#define INTERPOSE_CALL_FN_W_7W(lval, orig, a1, a2, a3, a4, a5, a6, a7) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_7_, 7, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3) INTERPOSE_PUT_(4, a4) INTERPOSE_PUT_(5, a5) INTERPOSE_PUT_(6, a6) \
                    INTERPOSE_PUT_(7, a7))
#define INTERPOSE_CALL_FN_W_8W(lval, orig, a1, a2, a3, a4, a5, a6, a7, a8) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_8_, 8, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3) INTERPOSE_PUT_(4, a4) INTERPOSE_PUT_(5, a5) INTERPOSE_PUT_(6, a6) \
                    INTERPOSE_PUT_(7, a7) INTERPOSE_PUT_(8, a8))
#define INTERPOSE_CALL_FN_W_9W(lval, orig, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_9_, 9, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3) INTERPOSE_PUT_(4, a4) INTERPOSE_PUT_(5, a5) INTERPOSE_PUT_(6, a6) \
                    INTERPOSE_PUT_(7, a7) INTERPOSE_PUT_(8, a8) INTERPOSE_PUT_(9, a9))
#define INTERPOSE_CALL_FN_W_10W(lval, orig, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_10_, 10, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3) INTERPOSE_PUT_(4, a4) INTERPOSE_PUT_(5, a5) INTERPOSE_PUT_(6, a6) \
                    INTERPOSE_PUT_(7, a7) INTERPOSE_PUT_(8, a8) INTERPOSE_PUT_(9, a9) \
                    INTERPOSE_PUT_(10, a10))
#define INTERPOSE_CALL_FN_W_11W(lval, orig, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_11_, 11, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3) INTERPOSE_PUT_(4, a4) INTERPOSE_PUT_(5, a5) INTERPOSE_PUT_(6, a6) \
                    INTERPOSE_PUT_(7, a7) INTERPOSE_PUT_(8, a8) INTERPOSE_PUT_(9, a9) \
                    INTERPOSE_PUT_(10, a10) INTERPOSE_PUT_(11, a11))
#define INTERPOSE_CALL_FN_W_12W(lval, orig, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
    INTERPOSE_CALL_(lval, orig, INTERPOSE_SETUP_12_, 12, INTERPOSE_PUT_(1, a1) INTERPOSE_PUT_(2, a2) \
                    INTERPOSE_PUT_(3, a3) INTERPOSE_PUT_(4, a4) INTERPOSE_PUT_(5, a5) INTERPOSE_PUT_(6, a6) \
                    INTERPOSE_PUT_(7, a7) INTERPOSE_PUT_(8, a8) INTERPOSE_PUT_(9, a9) \
                    INTERPOSE_PUT_(10, a10) INTERPOSE_PUT_(11, a11) INTERPOSE_PUT_(12, a12))
#define INTERPOSE_CALL_FN_v_v(orig) \
    do { \
        unsigned long interpose_dropped_ __attribute__((unused)); \
        INTERPOSE_CALL_FN_W_v(interpose_dropped_, orig); \
    } while (0)
#define INTERPOSE_CALL_FN_v_W(orig, a1) \
    do { \
        unsigned long interpose_dropped_ __attribute__((unused)); \
        INTERPOSE_CALL_FN_W_W(interpose_dropped_, orig, a1); \
    } while (0)
#define INTERPOSE_CALL_FN_v_WW(orig, a1, a2) \
    do { \
        unsigned long interpose_dropped_ __attribute__((unused)); \
        INTERPOSE_CALL_FN_W_WW(interpose_dropped_, orig, a1, a2); \
    } while (0)
#define INTERPOSE_CALL_FN_v_WWW(orig, a1, a2, a3) \
    do { \
        unsigned long interpose_dropped_ __attribute__((unused)); \
        INTERPOSE_CALL_FN_W_WWW(interpose_dropped_, orig, a1, a2, a3); \
    } while (0)
#define INTERPOSE_CALL_FN_v_WWWW(orig, a1, a2, a3, a4) \
    do { \
        unsigned long interpose_dropped_ __attribute__((unused)); \
        INTERPOSE_CALL_FN_W_WWWW(interpose_dropped_, orig, a1, a2, a3, a4); \
    } while (0)
#define INTERPOSE_CALL_FN_v_5W(orig, a1, a2, a3, a4, a5) \
    do { \
        unsigned long interpose_dropped_ __attribute__((unused)); \
        INTERPOSE_CALL_FN_W_5W(interpose_dropped_, orig, a1, a2, a3, a4, a5); \
    } while (0)
#define INTERPOSE_CALL_FN_v_6W(orig, a1, a2, a3, a4, a5, a6) \
    do { \
        unsigned long interpose_dropped_ __attribute__((unused)); \
        INTERPOSE_CALL_FN_W_6W(interpose_dropped_, orig, a1, a2, a3, a4, a5, a6); \
    } while (0)
#define INTERPOSE_CALL_FN_v_7W(orig, a1, a2, a3, a4, a5, a6, a7) \
    do { \
        unsigned long interpose_dropped_ __attribute__((unused)); \
        INTERPOSE_CALL_FN_W_7W(interpose_dropped_, orig, a1, a2, a3, a4, a5, a6, a7); \
    } while (0)
#endif /* INTERPOSE_ACTIVE */
#endif

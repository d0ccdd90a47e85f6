/* The request mechanism: marker instructions that do nothing on a CPU.
 *
 * Include <interpose/interpose.h>.  The markers, registers and numbers are those that Valgrind made common, so that
 * what is built with these headers runs under either, and either's programs run here.
 */
#ifndef INTERPOSE_REQUEST_H
#define INTERPOSE_REQUEST_H

#if !defined(NVALGRIND) && defined(__GNUC__) && defined(__linux__) &&                                                  \
    ((defined(__x86_64__) && !defined(__ILP32__)) || defined(__i386__))
#define INTERPOSE_ACTIVE 1
#else
#define INTERPOSE_ACTIVE 0
#endif

#define INTERPOSE_WORD_(x) ((unsigned long)(x))

#if INTERPOSE_ACTIVE

/* Four rotations that add up to whole turns; the exchange after them tells what is wanted. */
#ifdef __x86_64__
#define INTERPOSE_MARK_         "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
#define INTERPOSE_MARK_REQUEST_ INTERPOSE_MARK_ "xchgq %%rbx, %%rbx\n\t"
#define INTERPOSE_MARK_NRADDR_  INTERPOSE_MARK_ "xchgq %%rcx, %%rcx\n\t"
#define INTERPOSE_MARK_CALL_    INTERPOSE_MARK_ "xchgq %%rdx, %%rdx\n\t"
#define INTERPOSE_MARK_INJECT_  INTERPOSE_MARK_ "xchgq %%rdi, %%rdi\n\t"
#else
#define INTERPOSE_MARK_         "roll $3, %%edi\n\troll $13, %%edi\n\troll $29, %%edi\n\troll $19, %%edi\n\t"
#define INTERPOSE_MARK_REQUEST_ INTERPOSE_MARK_ "xchgl %%ebx, %%ebx\n\t"
#define INTERPOSE_MARK_NRADDR_  INTERPOSE_MARK_ "xchgl %%ecx, %%ecx\n\t"
#define INTERPOSE_MARK_CALL_    INTERPOSE_MARK_ "xchgl %%edx, %%edx\n\t"
#define INTERPOSE_MARK_INJECT_  INTERPOSE_MARK_ "xchgl %%edi, %%edi\n\t"
#endif

/* The answer to a request with five arguments; "dflt" natively, and from an engine that does not know it. */
#define INTERPOSE_REQUEST(dflt, code, a1, a2, a3, a4, a5)                                                              \
    __extension__({                                                                                                    \
        volatile unsigned long interpose_args_[6] = {INTERPOSE_WORD_(code), INTERPOSE_WORD_(a1), INTERPOSE_WORD_(a2),  \
                                                     INTERPOSE_WORD_(a3),   INTERPOSE_WORD_(a4), INTERPOSE_WORD_(a5)}; \
        unsigned long interpose_answer_ = INTERPOSE_WORD_(dflt);                                                       \
        __asm__ volatile(INTERPOSE_MARK_REQUEST_                                                                       \
                         : "+d"(interpose_answer_)                                                                     \
                         : "a"(&interpose_args_[0])                                                                    \
                         : "cc", "memory");                                                                            \
        interpose_answer_;                                                                                             \
    })

#define INTERPOSE_REQUEST_STMT(code, a1, a2, a3, a4, a5)                                                               \
    do {                                                                                                               \
        (void)INTERPOSE_REQUEST(0, code, a1, a2, a3, a4, a5);                                                          \
    } while (0)

#else /* no code */

#ifdef __GNUC__ /* no warning where the answer is dropped */
#define INTERPOSE_REQUEST(dflt, code, a1, a2, a3, a4, a5)                                                              \
    __extension__({                                                                                                    \
        unsigned long interpose_answer_ = INTERPOSE_WORD_(dflt);                                                       \
        interpose_answer_;                                                                                             \
    })
#else
#define INTERPOSE_REQUEST(dflt, code, a1, a2, a3, a4, a5) INTERPOSE_WORD_(dflt)
#endif
#define INTERPOSE_REQUEST_STMT(code, a1, a2, a3, a4, a5)                                                               \
    do {                                                                                                               \
    } while (0)

#endif

/* A tool's requests: its two letters in the upper half, a number in the lower. */
#define INTERPOSE_TOOL_BASE(a, b)             ((unsigned)(((a) & 0xff) << 24 | ((b) & 0xff) << 16))
#define INTERPOSE_IS_TOOL_REQUEST(a, b, code) (INTERPOSE_TOOL_BASE(a, b) == ((code) & 0xffff0000u))

#endif

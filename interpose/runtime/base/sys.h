/* The whole kernel boundary of the runtime: raw x86-64 system calls. */
#ifndef INTERPOSE_SYS_H
#define INTERPOSE_SYS_H

static inline long sys6(long n, long a, long b, long c, long d, long e, long f) {
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
}
static inline long sys0(long n) { return sys6(n, 0, 0, 0, 0, 0, 0); }
static inline long sys1(long n, long a) { return sys6(n, a, 0, 0, 0, 0, 0); }
static inline long sys2(long n, long a, long b) { return sys6(n, a, b, 0, 0, 0, 0); }
static inline long sys3(long n, long a, long b, long c) { return sys6(n, a, b, c, 0, 0, 0); }
static inline long sys4(long n, long a, long b, long c, long d) { return sys6(n, a, b, c, d, 0, 0); }
static inline long sys5(long n, long a, long b, long c, long d, long e) { return sys6(n, a, b, c, d, e, 0); }

#endif

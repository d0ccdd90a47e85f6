/* arch_prctl, gs and fs operands, thread-local storage in all models. */
// modes: default tiny-cache evict no-chaining single-step no-optimise far-images trace-children memcheck tracking no-fsgsbase no-fsgsbase-memcheck
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static __thread int a = 1, b[5] = {1, 2, 3, 4, 5};
__thread long long exported = 77;
int main(void) {
    uint64_t data[8] = {11, 22, 33, 44, 55, 66, 77, 88}, base = 0, v, w;
    syscall(SYS_arch_prctl, ARCH_SET_GS, data);
    syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    __asm__ volatile("mov %%gs:16, %0" : "=r"(v));
    __asm__ volatile("mov %%gs:(%1,%2,8), %0" : "=r"(w) : "r"(8L), "r"(3L));
    printf("gs %d %lu %lu\n", base == (uint64_t)data, v, w);
    __asm__ volatile("addq $5, %%gs:0" ::: "memory");
    printf("added %lu\n", data[0]);
    char out[16];
    void *d = out, *s = (void *)8;
    long c = 8;
    __asm__ volatile("rep movsb %%gs:(%%rsi), %%es:(%%rdi)" : "+D"(d), "+S"(s), "+c"(c)::"memory");
    printf("movs %d\n", out[0]);
    /* no register is left for the address */
    static uint64_t pair[2] __attribute__((aligned(16))) = {5, 6};
    unsigned char swapped;
    syscall(SYS_arch_prctl, ARCH_SET_GS, pair);
    __asm__ volatile("lock cmpxchg16b %%gs:(%%rdi,%%rsi)\n\tsetz %0"
                     : "=r"(swapped)
                     : "a"(5ul), "d"(6ul), "b"(7ul), "c"(8ul), "D"(-16ul), "S"(16ul)
                     : "memory", "cc");
    printf("cmpxchg16b %d %lu %lu\n", swapped, pair[0], pair[1]);
    register uint64_t r8 __asm__("r8") = 9;
    __asm__ volatile(".byte 0xf3, 0x41, 0x90" : "=a"(v), "+r"(r8) : "0"(10ul)); /* xchg, not pause */
    printf("f3 41 90: %lu %lu\n", v, r8);
    a += b[3];
    exported += a;
    printf("tls %d %lld\n", a, exported);
    printf("bad base %ld\n", syscall(SYS_arch_prctl, ARCH_SET_FS, ~0ull));
    return 0;
}

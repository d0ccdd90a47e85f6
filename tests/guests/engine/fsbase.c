/* arch_prctl, gs and fs operands, thread-local storage in all models. */
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
    a += b[3];
    exported += a;
    printf("tls %d %lld\n", a, exported);
    printf("bad base %ld\n", syscall(SYS_arch_prctl, ARCH_SET_FS, ~0ull));
    return 0;
}

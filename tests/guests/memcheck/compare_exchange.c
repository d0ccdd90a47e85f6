/* What a compare and exchange leaves undefined: the pair forms and what is stored go by the values. */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

typedef unsigned long u64;

static void show(const char *name, const void *p, unsigned n) {
    unsigned char v[16] = {0};
    VALGRIND_GET_VBITS(p, v, n);
    fprintf(stderr, " %s ", name);
    for (unsigned i = 0; i < n; i++)
        fprintf(stderr, "%02x", v[i]);
}

__attribute__((noinline)) static void pair(int equal, int undefined) {
    u64 memory[2] __attribute__((aligned(16))) = {5, 0}, expected[2] = {equal ? 5 : 6, 0}, next[2] = {9, 1};
    unsigned char z;
    if (undefined & 1)
        VALGRIND_MAKE_MEM_UNDEFINED(memory, 1);
    if (undefined & 2)
        VALGRIND_MAKE_MEM_UNDEFINED((char *)expected + 2, 1);
    if (undefined & 4)
        VALGRIND_MAKE_MEM_UNDEFINED(next, 4);
    __asm__ volatile("movq %2, %%rax; movq %3, %%rdx; movq %4, %%rbx; movq %5, %%rcx; lock cmpxchg16b %1; setz %0;"
                     "movq %%rax, %2; movq %%rdx, %3"
                     : "=m"(z), "+m"(*(__int128 *)memory), "+m"(expected[0]), "+m"(expected[1])
                     : "m"(next[0]), "m"(next[1])
                     : "rax", "rbx", "rcx", "rdx", "cc");
    fprintf(stderr, "16 %d %d:", equal, undefined);
    show("memory", memory, 16), show("zf", &z, 1);
    if (!(undefined & 2))
        show("old", expected, 16);
    fprintf(stderr, "\n");
}

__attribute__((noinline)) static void halves(int equal, int undefined) {
    unsigned memory[2] __attribute__((aligned(8))) = {5, 0}, next[2] = {9, 1};
    unsigned char z;
    if (undefined & 1)
        VALGRIND_MAKE_MEM_UNDEFINED((char *)memory + 4, 1);
    if (undefined & 4)
        VALGRIND_MAKE_MEM_UNDEFINED(next, 2);
    __asm__ volatile("movl %2, %%eax; xorl %%edx, %%edx; movl %3, %%ebx; movl %4, %%ecx; lock cmpxchg8b %1; setz %0"
                     : "=m"(z), "+m"(*(u64 *)memory)
                     : "g"(equal ? 5 : 6), "m"(next[0]), "m"(next[1])
                     : "rax", "rbx", "rcx", "rdx", "cc");
    fprintf(stderr, "8 %d %d:", equal, undefined);
    show("memory", memory, 8), show("zf", &z, 1);
    fprintf(stderr, "\n");
}

__attribute__((noinline)) static void single(int equal, int undefined) {
    u64 memory = 5, next = 9;
    unsigned char z;
    if (undefined & 1)
        VALGRIND_MAKE_MEM_UNDEFINED(&memory, 1);
    if (undefined & 4)
        VALGRIND_MAKE_MEM_UNDEFINED(&next, 4);
    __asm__ volatile("movq %2, %%rax; movq %3, %%rbx; lock cmpxchgq %%rbx, %1; setz %0"
                     : "=m"(z), "+m"(memory)
                     : "g"(equal ? 5L : 6L), "m"(next)
                     : "rax", "rbx", "cc");
    fprintf(stderr, "1 %d %d:", equal, undefined);
    show("memory", &memory, 8), show("zf", &z, 1);
    fprintf(stderr, "\n");
}

int main(void) {
    __int128 *heap = aligned_alloc(16, 16), expected = *heap, next = 1;
    for (int i = 0; i < 16; i++) {
        pair(i & 1, i >> 1);
        halves(i & 1, i >> 1);
        single(i & 1, i >> 1);
    }
    /* A list without locks, whose first counter nobody set. */
    unsigned char done;
    __asm__ volatile("movq %2, %%rax; movq %3, %%rdx; movq %4, %%rbx; xorl %%ecx, %%ecx; lock cmpxchg16b %1; setz %0"
                     : "=m"(done), "+m"(*heap)
                     : "m"(((u64 *)&expected)[0]), "m"(((u64 *)&expected)[1]), "m"(next)
                     : "rax", "rbx", "rcx", "rdx", "cc");
    if (!done)
        fprintf(stderr, "not exchanged\n");
    free(heap);
    return 0;
}

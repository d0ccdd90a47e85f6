/* NON_SIMD_CALL: arguments, results, registers kept, nesting, leaving by longjmp. */
#include <interpose/interpose.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
static jmp_buf out;
static long none(long tid) { return 1000 + tid; }
static long one(long tid, long a) { return a * 10 + tid; }
static long two(long tid, long a, long b) { return a * 100 + b * 10 + tid; }
static long three(long tid, long a, long b, long c) { return a * 1000 + b * 100 + c * 10 + tid; }
static long nested(long tid, long depth) {
    return depth == 0 ? tid : 10 + (long)VALGRIND_NON_SIMD_CALL1(nested, depth - 1);
}
static long clobbers(long tid) {
    __asm__ volatile("pxor %%xmm0, %%xmm0\n pxor %%xmm7, %%xmm7\n xor %%r8d, %%r8d\n xor %%r11d, %%r11d"
                     ::: "xmm0", "xmm7", "r8", "r11");
    return tid;
}
static long leaves(long tid) { longjmp(out, (int)tid); }
static void *thread(void *arg) {
    (void)arg;
    long tid = (long)VALGRIND_NON_SIMD_CALL0(none);
    printf("thread %s\n", tid != 1001 && tid != 0 ? "has another id" : tid ? "is the first" : "native");
    return NULL;
}
int main(void) {
    printf("%ld %ld\n", (long)VALGRIND_NON_SIMD_CALL0(none), (long)VALGRIND_NON_SIMD_CALL1(one, 7));
    printf("%ld\n", (long)VALGRIND_NON_SIMD_CALL2(two, 7, 8));
    printf("%ld\n", (long)VALGRIND_NON_SIMD_CALL3(three, 7, 8, 9));
    printf("nested %ld\n", (long)VALGRIND_NON_SIMD_CALL1(nested, 5));
    unsigned long kept = 0x1234, vector = 0;
    __asm__ volatile("movq %[in], %%xmm7\n movq %[in], %%r8\n" : : [in] "r"(0xabcdul) : "xmm7", "r8");
    {
        unsigned long words[6] = {0x1101, (unsigned long)clobbers, 0, 0, 0, 0}, result = 0;
        __asm__ volatile("movq %[seed], %%r8\n movq %[seed], %%xmm7\n"
                         "rolq $3, %%rdi\n rolq $13, %%rdi\n rolq $61, %%rdi\n rolq $51, %%rdi\n xchgq %%rbx, %%rbx\n"
                         "movq %%r8, %[kept]\n movq %%xmm7, %[vector]"
                         : "+d"(result), [kept] "=&r"(kept), [vector] "=&r"(vector)
                         : "a"(words), [seed] "r"(0xabcdul)
                         : "cc", "memory", "r8", "xmm7");
    }
    printf("kept %lx %lx\n", kept, vector);
    volatile int left = 0;
    for (volatile int i = 0; i < 300; i++)
        if (setjmp(out) == 0)
            (void)VALGRIND_NON_SIMD_CALL0(leaves);
        else
            left++;
    printf("left %d, then %ld\n", left, (long)VALGRIND_NON_SIMD_CALL0(none));
    pthread_t t;
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    return 0;
}

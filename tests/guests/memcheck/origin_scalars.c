/* A scalar in a vector register has its own origin, not that of what lies above it.
 * @options: --track-origins=yes */
#include <stdlib.h>

static volatile int reached;

__attribute__((noinline)) static void tested(int x) {
    if (x)
        reached++;
}

__attribute__((noinline)) static int *older(void) { return malloc(16); }
__attribute__((noinline)) static int *newer(void) { return malloc(16); }

int main(void) {
    int *old = older(), *new = newer(), got;
    float one = 1;
    double two = 2;
    tested(old[0]);
    tested(new[0]);
    /* The rest of the register was undefined before. */
    __asm__ volatile("movups %1, %%xmm0; cvtsi2ssl %2, %%xmm0; movd %%xmm0, %0"
                     : "=r"(got)
                     : "m"(*(int(*)[4])new), "m"(old[1])
                     : "xmm0");
    tested(got);
    __asm__ volatile("movups %1, %%xmm0; cvtsi2sdl %2, %%xmm0; addsd %3, %%xmm0; cvttsd2si %%xmm0, %0"
                     : "=r"(got)
                     : "m"(*(int(*)[4])new), "r"(old[1]), "m"(two)
                     : "xmm0");
    tested(got);
    /* Between registers. */
    __asm__ volatile("movups %1, %%xmm0; movss %2, %%xmm1; movss %%xmm1, %%xmm0; movd %%xmm0, %0"
                     : "=r"(got)
                     : "m"(*(int(*)[4])new), "m"(old[1])
                     : "xmm0", "xmm1");
    tested(got);
    __asm__ volatile("movups %1, %%xmm0; movups %2, %%xmm1; cvtsd2ss %%xmm1, %%xmm0; movd %%xmm0, %0"
                     : "=r"(got)
                     : "m"(*(int(*)[4])new), "m"(*(int(*)[4])old)
                     : "xmm0", "xmm1");
    tested(got);
    /* An operation of two, whose low elements are not from what is above. */
    __asm__ volatile("movups %1, %%xmm0; movss %2, %%xmm1; movss %%xmm1, %%xmm0; movss %3, %%xmm1;"
                     "addss %%xmm1, %%xmm0; movd %%xmm0, %0"
                     : "=r"(got)
                     : "m"(*(int(*)[4])new), "m"(old[1]), "m"(one)
                     : "xmm0", "xmm1");
    tested(got);
    free(old);
    free(new);
    return 0;
}

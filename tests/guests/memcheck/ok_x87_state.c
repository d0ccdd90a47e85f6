/* No error: images of the x87 state keep an undefined register apart from a defined one. */
#include <stdlib.h>

int main(void) {
    long double *undefined = malloc(sizeof *undefined), other = 3, two;
    char state[108], image[512] __attribute__((aligned(16)));
    __asm__ volatile("fldt %2; fldt %3; fnsave %1; frstor %1; fstpt %0; fstp %%st(0)"
                     : "=m"(two), "=m"(state)
                     : "m"(*undefined), "m"(other));
    if (two != 3)
        return 1;
    __asm__ volatile("fldt %2; fldt %3; fxsave64 %1; fninit; fxrstor64 %1; fstpt %0; fstp %%st(0)"
                     : "=m"(two), "=m"(image)
                     : "m"(*undefined), "m"(other));
    if (two != 3)
        return 2;
    free(undefined);
    return 0;
}

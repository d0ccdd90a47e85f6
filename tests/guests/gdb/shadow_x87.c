/* x87 registers of a double that is undefined, below one that is not. */
#include <stdlib.h>

void __attribute__((noinline)) use(void) { __asm__ volatile("nop"); }

int main(void) {
    double *undefined = malloc(sizeof(double)), defined = 1.5;
    ((unsigned *)undefined)[1] = 0x3ff00000;
    __asm__ volatile("fldl %0\n\tfldl %1" : : "m"(*undefined), "m"(defined));
    use();
    __asm__ volatile("fstp %%st(0)\n\tfstp %%st(0)" : : : "st");
    free(undefined);
    return 0;
}

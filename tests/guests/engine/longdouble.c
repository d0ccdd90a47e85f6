// flags: -lm
/* x87 in 80 bits: rounding, control word, comparisons, transcendental functions. */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
int main(void) {
    long double s = 0, p = 1;
    for (int i = 1; i < 2000; i++) {
        s += 1.0L / i / i;
        p *= 1.0L + 1.0L / ((long double)i * i);
    }
    printf("%.20Lf %.20Lf\n", s, p);
    printf("%La %La %La\n", sinl(1.5L), expl(0.3L), powl(1.1L, 33.3L));
    printf("%La %La\n", fmodl(1e10L, 3.7L), atan2l(-1, -3));
    int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 4; i++) {
        fesetround(modes[i]);
        volatile long double a = 1, b = 3;
        volatile double x = 1, y = 3;
        volatile float f = 16777217;
        printf("%La %a %a %ld\n", a / b, x / y, f + 0.5f, lrint(-2.5));
    }
    fesetround(FE_TONEAREST);
    feclearexcept(FE_ALL_EXCEPT);
    volatile double z = 0, o = 1;
    volatile double q = o / z;
    printf("%d %d %f\n", !!fetestexcept(FE_DIVBYZERO), !!fetestexcept(FE_INVALID), q);
    unsigned short cw = 0x27f;
    volatile long double third = 3;
    __asm__ volatile("fldcw %0" ::"m"(cw));
    third = 1 / third;
    cw = 0x37f;
    __asm__ volatile("fldcw %0" ::"m"(cw));
    printf("%La %d %d\n", third, isnan(NAN), isinf(q));
    return 0;
}

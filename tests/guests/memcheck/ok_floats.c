/* No error: comparisons, conversions and libm. 
 * @build: -O2 -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    volatile double d = 2.25;
    volatile float f = 1.5f;
    int ok = sqrt(d) == 1.5 && f == 1.5f && (int)(d * 4) == 9 && floor(d) == 2 && !isnan(d) && pow(d, 2) > 5 &&
             exp(log(d)) > 2.2 && lrint(d) == 2 && fmaxf(f, 1) == 1.5f && sin(d) < 1;
    char text[64];
    snprintf(text, sizeof text, "%g %a %e %.10f", d, (double)f, d, exp(d));
    ok = ok && strtod(text, NULL) == 2.25;
    return !ok;
}

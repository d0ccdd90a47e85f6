/* No error: x87 arithmetic, its environment saved and restored, long doubles in memory.
 * @build: -lm */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

int main(void) {
    long double *v = malloc(10 * sizeof *v), s = 0;
    fenv_t env;
    for (int i = 0; i < 10; i++)
        v[i] = sqrtl((long double)i) + sinl(1.0L / (i + 1));
    feholdexcept(&env);
    for (int i = 0; i < 10; i++)
        s += v[i];
    fesetenv(&env);
    int ok = s > 10.0L && fmodl(s, 3.0L) < 3.0L && fabsl(-s) == s;
    free(v);
    return !ok;
}

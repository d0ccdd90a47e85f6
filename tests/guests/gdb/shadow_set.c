#include <stdlib.h>
double twice(double x, long n) { return x * n; }
int use(int defined, int undefined, double real) {
    int n = 0;
    if (defined) n++;
    if (undefined) n++;
    if (real > 2) n++;
    return n;
}
int main(void) {
    int *p = malloc(8);
    double *d = malloc(8);
    use(3, p[0], *d);
    free(d);
    free(p);
    return 0;
}

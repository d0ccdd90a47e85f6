#include <stdlib.h>
#include <stdio.h>
struct pair { double a, b; };
int twice(int n) { return 2 * n; }
double half(double x) { return x / 2; }
int recurse(int n) { return n ? n + recurse(n - 1) : 0; }
char *name(void) { return "by name"; }
int main(void) {
    int kept = 5;
    printf("%d\n", twice(kept));
    return kept;
}

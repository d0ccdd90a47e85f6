#include <stdlib.h>
int use(int *p, int n) { return n; }
int main(void) {
    int *p = malloc(8);
    int undefined = p[0];
    use(p, undefined);
    p[1] = 3;
    free(p);
    return 0;
}

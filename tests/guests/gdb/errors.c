#include <stdlib.h>
int main(void) {
    char *p = malloc(10);
    if (p[5])
        p[0] = 1;
    p[12] = 2;
    int *q = malloc(4);
    free(q);
    return *q ? 2 : 3;
}

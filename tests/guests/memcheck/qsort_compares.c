/* qsort and bsearch: the comparison reads undefined keys and behind the array.  Frames of the library between ours. */
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    if (x < y)
        return -1;
    return x > y;
}

int main(void) {
    int *p = malloc(8 * sizeof *p);
    for (int i = 0; i < 8; i++)
        p[i] = 8 - i;
    qsort(p, 9, sizeof *p, compare); /* one too many */
    int key = 8;
    bsearch(&key, p + 6, 4, sizeof *p, compare);
    free(p);
    int q[4] = {3, 1};
    int undefined;
    q[2] = undefined;
    qsort(q, 4, sizeof *q, compare);
    return 0;
}

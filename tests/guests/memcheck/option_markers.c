/* Lines around each error, its stack with offsets and the folders of its sources.
 * @options: --error-markers=begin:here,end:there --sym-offsets=yes --show-below-main=yes --fullpath-after=@DIR@/ --fullpath-after=sysdeps/ */
#include <stdlib.h>

static int __attribute__((noinline)) inner(const int *p) { return p[1]; }

int main(void) {
    int *p = malloc(4);
    volatile int sum = inner(p);
    if (p[0])
        sum++;
    free(p);
    free(p);
    return 0;
}

/* UndefinedBehaviorSanitizer: an overflow, a shift, an index. */
// sanitize: undefined
#include <limits.h>
#include <stdio.h>

int main(int argc, char **argv) {
    (void)argv;
    static int a[4] = {1, 2, 3, 4};
    int big = INT_MAX;
    printf("%d\n", big + argc);
    printf("%d\n", 1 << (31 + argc));
    printf("%d\n", a[(3 + argc) & 7]);
    return 0;
}

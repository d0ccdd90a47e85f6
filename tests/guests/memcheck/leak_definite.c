/* Definitely lost: three blocks from one place are one record, one from another place is another.
 * @options: --leak-check=full */
#include <stdlib.h>

static void __attribute__((noinline)) lose(size_t n) {
    volatile char *p = malloc(n);
    p[0] = 1;
}

int main(void) {
    for (int i = 0; i < 3; i++)
        lose(100);
    lose(30);
    return 0;
}

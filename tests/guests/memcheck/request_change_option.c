/* CLO_CHANGE: options that change while the program runs.
 * @options: --leak-check=no */
#include <stdlib.h>
#include <valgrind/valgrind.h>

int main(void) {
    char *p = malloc(3), *q;
    p[3] = 1;
    VALGRIND_CLO_CHANGE("--leak-check=full");
    VALGRIND_CLO_CHANGE("--show-leak-kinds=all");
    VALGRIND_CLO_CHANGE("--freelist-vol=0");
    free(p);
    p = malloc(5);
    q = malloc(6);
    q = 0;
    p[5] = 1;
    return 0;
}

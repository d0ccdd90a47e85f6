/* The first leak that is an error is the last thing that is told, and decides the status; others are told.
 * @options: --leak-check=full --exit-on-first-error=yes --error-exitcode=3 --show-leak-kinds=all */
#include <stdlib.h>

static char *keep;

int main(void) {
    keep = malloc(10);
    malloc(20);
    malloc(30);
    return 0;
}

/* The first leak that a requested search shows is the last thing that is told; and two options do not go together.
 * @options: --exit-on-first-error=yes --error-exitcode=3 --freelist-vol=5000 */
#include <stdio.h>
#include <stdlib.h>
#include "valgrind/memcheck.h"

int main(void) {
    char *volatile block = malloc(10);
    block = malloc(20);
    block = NULL;
    puts("before");
    fflush(stdout);
    VALGRIND_DO_LEAK_CHECK;
    puts("not reached");
    return 0;
}

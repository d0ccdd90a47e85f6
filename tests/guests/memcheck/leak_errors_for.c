/* Which kinds of leak count as errors and end in the exit status.
 * @options: --leak-check=full --show-leak-kinds=definite,reachable --errors-for-leak-kinds=reachable --error-exitcode=9 */
#include <stdlib.h>

static void *kept;

int main(void) {
    kept = malloc(10);
    volatile char *p = malloc(20);
    p = NULL;
    (void)p;
    return 0;
}

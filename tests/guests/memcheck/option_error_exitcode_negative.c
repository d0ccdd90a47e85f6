/* A negative --error-exitcode leaves the status alone.
 * @options: --error-exitcode=-1 */
#include <stdlib.h>

int main(void) {
    char *p = malloc(1);
    p[1] = 1;
    free(p);
    return 3;
}

/* --error-exitcode replaces the status.
 * @options: --error-exitcode=42 */
#include <stdlib.h>

int main(void) {
    char *p = malloc(1);
    p[1] = 1;
    free(p);
    return 3;
}

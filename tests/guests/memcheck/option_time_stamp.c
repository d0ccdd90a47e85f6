/* The time at each line is a detail of the prefix: here with the verbosity that has no other lines.
 * @options: -q --time-stamp=yes */
#include <stdlib.h>
int main(void) {
    char *p = malloc(3);
    p[3] = 1;
    free(p);
    return 0;
}

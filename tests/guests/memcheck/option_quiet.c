/* -q: errors and leaks, and nothing else.
 * @options: -q --leak-check=full */
#include <stdlib.h>

int main(void) {
    char *p = malloc(1);
    p[1] = 1;
    p = NULL;
    return 3;
}

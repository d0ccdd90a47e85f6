/* --leak-check=no
 * @options: --leak-check=no */
#include <stdlib.h>

int main(void) {
    volatile char *p = malloc(20);
    p = NULL;
    (void)p;
    return 0;
}

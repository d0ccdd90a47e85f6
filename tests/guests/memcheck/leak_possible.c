/* Only pointers into the middle of blocks are left.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdlib.h>

static char *middle[2];

int main(void) {
    middle[0] = (char *)malloc(50) + 10;
    middle[1] = (char *)malloc(60) + 59;
    return 0;
}

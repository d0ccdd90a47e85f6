/* Still reachable: from a global, from a block, from a register-held local of main that never returns.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdlib.h>

static void **root;

int main(void) {
    root = malloc(3 * sizeof *root);
    root[0] = malloc(10);
    root[1] = NULL;
    root[2] = calloc(2, 20);
    return 0;
}

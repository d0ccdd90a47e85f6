/* Two rings of blocks, nothing points to either.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdlib.h>

struct node { struct node *next; long v; };

static void __attribute__((noinline)) ring(int n) {
    struct node *first = calloc(1, sizeof *first), *at = first;
    for (int i = 1; i < n; i++) {
        at->next = calloc(1, sizeof *at);
        at = at->next;
    }
    at->next = first;
}

int main(void) {
    ring(3);
    ring(2);
    return 0;
}

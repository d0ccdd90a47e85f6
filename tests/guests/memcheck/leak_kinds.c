/* All kinds at once, all shown; records in order of size.
 * @options: --leak-check=full --show-leak-kinds=all --leak-resolution=high */
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; char pad[8]; };

static void *reachable;
static char *inside;

static void __attribute__((noinline)) definite(void) {
    struct node *n = calloc(1, sizeof *n);
    n->next = calloc(1, sizeof *n);
    n->next->next = calloc(2, sizeof *n);
}

int main(void) {
    reachable = malloc(77);
    inside = (char *)malloc(33) + 4;
    definite();
    return 0;
}

/* A list whose head is lost: one block directly, the others indirectly.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdlib.h>

struct node { struct node *next; char pad[24]; };

static struct node *__attribute__((noinline)) push(struct node *next) {
    struct node *n = malloc(sizeof *n);
    n->next = next;
    return n;
}

int main(void) {
    struct node *list = NULL;
    for (int i = 0; i < 5; i++)
        list = push(list);
    list = NULL;
    return 0;
}

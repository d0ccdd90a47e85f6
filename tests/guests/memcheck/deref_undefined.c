/* An undefined pointer (its value is harmless by construction) is followed. */
#include <stdlib.h>
#include <valgrind/memcheck.h>

struct node { struct node *next; int value; };

int main(void) {
    struct node tail = {0, 5}, *p = malloc(sizeof *p);
    p->next = &tail;
    VALGRIND_MAKE_MEM_UNDEFINED(&p->next, sizeof p->next);
    volatile int n = p->next->value;
    *(volatile int *)&p->next->value = 1;
    (void)n;
    free(p);
    return 0;
}

/* Without --leak-check=full: the summary and its hint. */
#include <stdlib.h>

static void *kept;

int main(void) {
    kept = malloc(10);
    volatile char *p = malloc(20);
    p = NULL;
    (void)p;
    return 0;
}

/* realloc(p, 0) releases: reported since 3.21. */
#include <stdlib.h>

int main(void) {
    void *p = malloc(10);
    void *volatile q = realloc(p, 0);
    return q != NULL;
}

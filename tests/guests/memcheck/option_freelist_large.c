/* A block of as many bytes as may wait leaves the queue alone: those that were freed before it stay known.
 * @options: -q --freelist-vol=1000 */
#include <stdlib.h>

static volatile int sink;

static void after(size_t size) {
    char *first = malloc(41), *large = malloc(size), *last = malloc(5);
    free(first);
    free(large);
    free(last);
    free(malloc(100)); /* what is too much leaves */
    sink = first[1];
    sink = last[1];
}

int main(void) {
    after(900);
    after(1000);
    after(5000);
    return 0;
}

/* Memory of the heap that no block is known for: far behind a block, and freed so long ago that it has left the queue.
 * @options: --freelist-vol=100000 */
#include <stdlib.h>

static char *kept[3];

int main(void) {
    volatile char sink;
    kept[0] = malloc(16);
    char *first = malloc(1000);
    kept[1] = malloc(16);
    free(malloc(5000));
    char *second = malloc(5000);
    kept[2] = malloc(16);
    free(first);
    free(second);
    for (int i = 0; i < 200; i++) free(malloc(20000));
    sink = first[10];
    free(first);
    sink = kept[1][300];
    return sink & 0;
}

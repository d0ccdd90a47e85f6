/* A large freed block goes first when the queue is full, small ones stay known.
 * @options: --freelist-vol=10000 --freelist-big-blocks=4000 */
#include <stdlib.h>
int main(void) {
    char *big = malloc(5000), *small = malloc(20);
    volatile int sum = 0;
    free(big);
    free(small);
    for (int i = 0; i < 10; i++)
        free(malloc(900));
    sum += small[3];
    return 0;
}

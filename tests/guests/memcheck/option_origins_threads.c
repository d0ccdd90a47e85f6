/* Where values that two threads make undefined were created.  @build: -pthread
 * @options: --track-origins=yes */
#include <pthread.h>
#include <stdlib.h>
static int *shared;
static void *run(void *unused) {
    int local;
    shared = malloc(8);
    shared[1] = local;
    return 0;
}
int main(void) {
    pthread_t t;
    volatile int sum = 0;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    if (shared[0]) /* the block's */
        sum++;
    if (shared[1]) /* the other's local */
        sum++;
    free(shared);
    return 0;
}

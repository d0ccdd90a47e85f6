/* Errors in a thread: the header names it.
 * @build: -pthread */
#include <pthread.h>
#include <stdlib.h>

static void *work(void *arg) {
    int *p = arg;
    volatile int n = p[4];
    (void)n;
    if (p[1] == 5)
        return NULL;
    return arg;
}

int main(void) {
    pthread_t t;
    int *p = malloc(4 * sizeof *p);
    p[0] = 1;
    pthread_create(&t, NULL, work, p);
    pthread_join(t, NULL);
    volatile int n = p[5];
    (void)n;
    free(p);
    return 0;
}

/* Undefined values from another thread's stack, in registers and variables that held others: they are said to come
 * from that thread's frame, not from where those came, nor from this thread's.
 *
 * @build: -pthread
 * @options: --track-origins=yes */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static volatile int *shared;
static volatile int seen;
static pthread_barrier_t barrier;

/* run's frame is not its thread's newest while it is looked at: of that one nobody knows whose it is. */
__attribute__((noinline)) static void meet_twice(void) {
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
}

static void *run(void *p) {
    volatile int x[100];
    shared = &x[50];
    meet_twice();
    return 0;
}

int main(void) {
    pthread_t t;
    int *heap = malloc(40), copy, moved[4];
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t, 0, run, 0);
    pthread_barrier_wait(&barrier);
    copy = heap[3];
    if (copy) seen++;
    copy = *shared; /* in the register where the block's was */
    if (copy) seen++;
    memcpy(moved, (int *)shared, sizeof moved);
    if (moved[1]) seen++;
    if (*shared + copy) seen++;
    pthread_barrier_wait(&barrier);
    pthread_join(t, 0);
    free(heap);
    return 0;
}

/* A thread's stack, its own local storage and its result, used by another thread while it lives and after.
 * @build: -pthread */
#include <pthread.h>
#include <stdlib.h>

static __thread int local = 3;
static int *seen;
static pthread_barrier_t barrier;

/* run's own frame is not its thread's newest while it is looked at: of that one nobody knows whose it is. */
__attribute__((noinline)) static void meet_twice(void) {
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
}

static void *run(void *argument) {
    int mine[4];
    mine[0] = local;
    seen = mine;
    meet_twice();
    int *result = malloc(sizeof *result);
    return result; /* never written */
}

int main(void) {
    pthread_t t;
    void *result;
    volatile int sum = 0;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t, 0, run, 0);
    pthread_barrier_wait(&barrier);
    if (seen[0] == 3)
        sum++;
    if (seen[1] == 3) /* undefined, on its stack */
        sum++;
    seen[2] = 1;
    pthread_barrier_wait(&barrier);
    pthread_join(t, &result);
    if (*(int *)result) /* undefined */
        sum++;
    free(result);
    sum += *(int *)result;
    return 0;
}

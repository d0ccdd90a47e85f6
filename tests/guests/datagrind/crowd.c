/* More threads at a time than may have a piece of the file's memory each; every one writes a row of its own. */
#include <pthread.h>

#define THREADS 80

long rows[THREADS][3000];
static pthread_barrier_t all;

static void *work(void *row)
{
    long *to = row;
    pthread_barrier_wait(&all);
    for (int i = 0; i < 3000; i++) to[i] = i;
    pthread_barrier_wait(&all);
    return 0;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, 0, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, rows[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    return 0;
}

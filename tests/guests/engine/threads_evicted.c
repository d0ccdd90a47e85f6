/* Threads that come and go together while translations are dropped at nearly every exit. */
// flags: -pthread
// modes: default evict-often
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define THREADS 60
#define ROUNDS 3
static pthread_barrier_t all;
static atomic_long sum;

static void *run(void *arg) {
    pthread_barrier_wait(&all);
    for (int i = 0; i < 5; i++) atomic_fetch_add(&sum, (long)(intptr_t)arg * i);
    pthread_barrier_wait(&all);
    return NULL;
}

int main(void) {
    pthread_barrier_init(&all, NULL, THREADS);
    for (int r = 0; r < ROUNDS; r++) {
        pthread_t t[THREADS];
        for (intptr_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, run, (void *)i);
        for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    }
    printf("%ld\n", sum);
    return 0;
}

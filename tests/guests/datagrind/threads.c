// Four threads that write to arrays of their own.
#include <pthread.h>

#define N 20000
volatile long arrays[4][N];

void *work(void *which) {
    volatile long *array = arrays[(long)which];
    for (long i = 0; i < N; i++) array[i] = i;
    return 0;
}

int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (long i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}

/* Two threads that run at the same time, longer than a buffer of records. */
#include <pthread.h>
#include <stdio.h>

static void *work(void *arg) {
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < 60000; i++) sum += i ^ (unsigned long)arg;
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(threads + i, 0, work, &threads[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    puts("done");
    return 0;
}

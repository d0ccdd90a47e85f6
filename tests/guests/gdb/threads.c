#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
__thread int own = 3;
pthread_barrier_t barrier;
volatile int spun[4];
void *work(void *arg) {
    long n = (long)arg;
    char name[16];
    sprintf(name, "worker-%ld", n);
    pthread_setname_np(pthread_self(), name);
    own = 100 + n;
    pthread_barrier_wait(&barrier);
    if (n == 0) { while (!spun[3]) spun[0]++; }
    pthread_barrier_wait(&barrier);
    return NULL;
}
void all_here(void) {}
int main(void) {
    pthread_t t[3];
    pthread_barrier_init(&barrier, NULL, 4);
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, (void *)i);
    pthread_barrier_wait(&barrier);
    all_here();
    spun[3] = 1;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    puts("joined");
    return 0;
}

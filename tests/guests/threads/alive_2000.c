/* 2,000 threads alive at once, then joined; 2,000 one after another. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long sum, arrived;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER, all = PTHREAD_COND_INITIALIZER;
static int open_gate;
static __thread long mine;

static void *waits(void *arg) {
    mine = (intptr_t)arg;
    pthread_mutex_lock(&lock);
    if (++arrived == 2000) pthread_cond_signal(&all);
    while (!open_gate) pthread_cond_wait(&go, &lock);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&sum, mine);
    return arg;
}
static void *brief(void *arg) {
    char *p = malloc(100);
    memset(p, 1, 100);
    atomic_fetch_add(&sum, p[99]);
    free(p);
    return arg;
}

int main(void) {
    static pthread_t t[2000];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 10);
    for (int i = 0; i < 2000; i++) {
        int r = pthread_create(&t[i], &attr, waits, (void *)(intptr_t)i);
        if (r) {
            printf("thread %d: %s\n", i, strerror(r));
            return 1;
        }
    }
    pthread_mutex_lock(&lock);
    while (arrived < 2000) pthread_cond_wait(&all, &lock);
    open_gate = 1;
    pthread_cond_broadcast(&go);
    pthread_mutex_unlock(&lock);
    long back = 0;
    for (int i = 0; i < 2000; i++) {
        void *r;
        pthread_join(t[i], &r);
        back += (intptr_t)r;
    }
    printf("at once %ld %ld\n", sum, back);
    sum = 0;
    for (int i = 0; i < 2000; i++) {
        pthread_create(&t[0], i % 3 ? &attr : NULL, brief, NULL);
        if (i % 2)
            pthread_join(t[0], NULL);
        else {
            pthread_detach(t[0]);
        }
    }
    while (sum < 2000) {}
    printf("in turn %ld\n", sum);
    return 0;
}

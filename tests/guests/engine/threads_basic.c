// flags: -pthread
/* pthread create, join, mutex, condition, TLS, once, barrier, rwlock, semaphores, cancellation, detach. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N 8
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t sem;
static long counter;
static atomic_long atom;
static int turn, onces;
static __thread int mine = 5;
static pthread_key_t key;

static void init(void) { onces++; }
static void drop(void *p) { atomic_fetch_add(&atom, (long)(intptr_t)p); }

static void *run(void *arg) {
    int me = (int)(intptr_t)arg;
    pthread_once(&once, init);
    mine += me;
    pthread_setspecific(key, (void *)(intptr_t)(me + 1));
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 20000; i++) {
        if (i % 4 == 0) {
            pthread_mutex_lock(&lock);
            counter++;
            pthread_mutex_unlock(&lock);
        }
        atomic_fetch_add(&atom, 1);
    }
    pthread_mutex_lock(&lock);
    while (turn != me) pthread_cond_wait(&cond, &lock);
    printf("thread %d tls %d\n", me, mine);
    turn++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&lock);
    return (void *)(intptr_t)(me * me);
}
static void cleanup(void *p) { printf("cleanup %s\n", (char *)p); }
static void *forever(void *arg) {
    (void)arg;
    pthread_cleanup_push(cleanup, "one");
    sem_post(&sem);
    for (;;) pause();
    pthread_cleanup_pop(0);
    return 0;
}
static void *async(void *arg) {
    (void)arg;
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    sem_post(&sem);
    for (volatile long i = 0;; i++) {}
}

int main(void) {
    pthread_t t[N];
    void *r;
    long sum = 0;
    sem_init(&sem, 0, 0);
    pthread_key_create(&key, drop);
    pthread_barrier_init(&barrier, 0, N);
    for (int i = 0; i < N; i++) pthread_create(&t[i], 0, run, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], &r);
        sum += (long)(intptr_t)r;
    }
    printf("counter %ld atomic %ld sum %ld once %d main tls %d\n", counter, (long)atom, sum, onces, mine);
    pthread_t c;
    pthread_create(&c, 0, forever, 0);
    sem_wait(&sem);
    pthread_cancel(c);
    pthread_join(c, &r);
    printf("cancelled %d\n", r == PTHREAD_CANCELED);
    pthread_create(&c, 0, async, 0);
    sem_wait(&sem);
    pthread_cancel(c);
    pthread_join(c, &r);
    printf("cancelled %d\n", r == PTHREAD_CANCELED);
    for (int i = 0; i < 200; i++) {
        pthread_create(&c, 0, (void *(*)(void *))(void *)strlen, "abc");
        pthread_join(c, &r);
        sum += (long)(intptr_t)r;
    }
    printf("sum %ld\n", sum);
    return 0;
}

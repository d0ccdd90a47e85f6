/* 2,000 threads made and joined, 500 at once, robust mutexes, cancellation everywhere, fork while others allocate. */
// flags: -pthread
// modes: default tiny-cache evict no-chaining far-images
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static __thread int own = 7;
static __thread char bss[300];
static atomic_long sum;
static pthread_barrier_t all;

static void *brief(void *arg) {
    own += (int)(intptr_t)arg;
    bss[own % 300]++;
    atomic_fetch_add(&sum, own + bss[own % 300]);
    return arg;
}

static void *together(void *arg) {
    pthread_barrier_wait(&all);
    atomic_fetch_add(&sum, (long)(intptr_t)arg);
    pthread_barrier_wait(&all);
    return NULL;
}

static void many(void) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    pthread_t t[500];
    for (int i = 0; i < 2000; i++) {
        void *r;
        if (pthread_create(&t[0], &attr, brief, (void *)(intptr_t)i)) exit(90);
        pthread_join(t[0], &r);
        if ((intptr_t)r != i) exit(91);
    }
    printf("in turn %ld\n", atomic_load(&sum));
    pthread_barrier_init(&all, NULL, 501);
    for (int i = 0; i < 500; i++)
        if (pthread_create(&t[i], &attr, together, (void *)(intptr_t)i)) exit(92);
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    for (int i = 0; i < 500; i++) pthread_join(t[i], NULL);
    printf("at once %ld\n", atomic_load(&sum));
}

static pthread_mutex_t robust;
static void *dies_with_it(void *arg) {
    pthread_mutex_lock(&robust);
    return arg;
}

static void robust_mutex(void) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &a);
    pthread_t t;
    pthread_create(&t, NULL, dies_with_it, NULL);
    pthread_join(t, NULL);
    int r = pthread_mutex_lock(&robust);
    printf("robust %s", strerrorname_np(r));
    printf(" %d", pthread_mutex_consistent(&robust));
    printf(" %d", pthread_mutex_unlock(&robust));
    /* Between processes; the owner is killed. */
    pthread_mutex_t *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(m, &a);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_mutex_lock(m);
        raise(SIGKILL);
    }
    int status;
    waitpid(pid, &status, 0);
    r = pthread_mutex_lock(m);
    printf(" killed %d: %s %d\n", WTERMSIG(status), strerrorname_np(r), pthread_mutex_consistent(m));
}

static atomic_int cleaned;
static void cleanup(void *p) { atomic_fetch_add(&cleaned, (int)(intptr_t)p); }

static void *in_read(void *arg) {
    char c;
    pthread_cleanup_push(cleanup, (void *)1);
    while (read(*(int *)arg, &c, 1) >= 0) {}
    pthread_cleanup_pop(0);
    return NULL;
}

static void *in_loop(void *arg) {
    (void)arg;
    volatile long n = 0;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(cleanup, (void *)100);
    for (;;) n++;
    pthread_cleanup_pop(0);
    return NULL;
}

static pthread_mutex_t cond_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void unlock(void *p) {
    pthread_mutex_unlock(p);
    cleanup((void *)10000);
}
static void *in_wait(void *arg) {
    pthread_mutex_lock(&cond_lock);
    pthread_cleanup_push(unlock, &cond_lock);
    for (;;) pthread_cond_wait(&cond, &cond_lock);
    pthread_cleanup_pop(0);
    return arg;
}

static void cancel(void) {
    int p[2], canceled = 0;
    if (pipe(p)) exit(93);
    void *(*const fn[3])(void *) = {in_read, in_loop, in_wait};
    for (int i = 0; i < 30; i++) {
        pthread_t t;
        void *r;
        pthread_create(&t, NULL, fn[i % 3], &p[0]);
        usleep(i % 5 * 500);
        pthread_cancel(t);
        pthread_join(t, &r);
        canceled += r == PTHREAD_CANCELED;
    }
    printf("canceled %d\n", canceled);
}

static atomic_int stop;
static void *allocates(void *arg) {
    unsigned x = (unsigned)(intptr_t)arg;
    void *held[64] = {0};
    while (!atomic_load(&stop)) {
        x = x * 1103515245 + 12345;
        free(held[x >> 16 & 63]);
        held[x >> 16 & 63] = malloc((x >> 8 & 2047) + 1);
    }
    for (int i = 0; i < 64; i++) free(held[i]);
    return NULL;
}

static void *forks(void *arg) {
    int good = 0;
    for (int i = 0; i < 15; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            void *p[20];
            for (int k = 0; k < 20; k++) memset(p[k] = malloc(1000 + 100 * (size_t)k), k, 1000);
            for (int k = 0; k < 20; k++) free(p[k]);
            _exit(40 + i);
        }
        int status;
        good += waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 40 + i;
    }
    *(int *)arg = good;
    return NULL;
}

int main(void) {
    many();
    robust_mutex();
    cancel();
    fflush(stdout);
    pthread_t t[3], f;
    int good = 0;
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, allocates, (void *)(intptr_t)i);
    pthread_create(&f, NULL, forks, &good);
    pthread_join(f, NULL);
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    printf("forks %d\n", good);
    return 0;
}

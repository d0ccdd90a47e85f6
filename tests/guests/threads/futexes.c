/* Futexes as libraries use them: robust lists, priority inheritance, requeue, wake_op, bitsets, waitv; membarrier, getcpu. */
// errors: yes
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long futex(volatile uint32_t *at, int op, uint32_t val, void *timeout, volatile uint32_t *at2, uint32_t val3) {
    long r = syscall(SYS_futex, at, op, val, timeout, at2, val3);
    return r < 0 ? -errno : r;
}
static volatile uint32_t a, b;
static volatile int in;
static void *waits(void *arg) {
    __sync_fetch_and_add(&in, 1);
    return (void *)futex(&a, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}
static void *waits_bits(void *arg) {
    __sync_fetch_and_add(&in, 1);
    return (void *)futex(&a, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, (uint32_t)(uintptr_t)arg);
}
static long wake(volatile uint32_t *at, int n) {
    long woken = 0;
    while (woken < n) woken += futex(at, FUTEX_WAKE_PRIVATE, n - woken, NULL, NULL, 0);
    return woken;
}
static void join(pthread_t *t, int n, const char *what) {
    for (int i = 0; i < n; i++) {
        void *r;
        pthread_join(t[i], &r);
        if (r) printf("%s: %ld\n", what, (long)r);
    }
}

static pthread_mutex_t m;
static void *owns(void *arg) {
    pthread_mutex_lock(&m);
    if (arg) syscall(SYS_exit, 0); /* without a word to the library */
    return NULL;
}
static void robust(int kind, const char *name) {
    pthread_mutexattr_t at;
    pthread_mutexattr_init(&at);
    pthread_mutexattr_setrobust(&at, PTHREAD_MUTEX_ROBUST);
    if (kind & 1) pthread_mutexattr_setprotocol(&at, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&m, &at);
    pthread_t t;
    pthread_create(&t, NULL, owns, NULL);
    pthread_join(t, NULL);
    int r = pthread_mutex_lock(&m);
    printf("%s: %s", name, strerrorname_np(r));
    if (kind & 2) pthread_mutex_consistent(&m);
    pthread_mutex_unlock(&m);
    r = pthread_mutex_lock(&m);
    printf(" then %s\n", r ? strerrorname_np(r) : "locked");
}

static void between_processes(int how) {
    pthread_mutexattr_t at;
    pthread_mutexattr_init(&at);
    pthread_mutexattr_setrobust(&at, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&at, PTHREAD_PROCESS_SHARED);
    pthread_mutex_t *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_init(s, &at);
    pid_t p = fork();
    if (p == 0) {
        pthread_mutex_lock(s);
        switch (how) {
        case 0: _exit(0);
        case 1: raise(SIGKILL);
        case 2: abort();
        case 3: execl("/bin/true", "true", NULL);
        case 4: exit(0);
        }
    }
    waitpid(p, NULL, 0);
    printf("process end %d: %s\n", how, strerrorname_np(pthread_mutex_lock(s)));
}

static void lists(void) {
    void *head = NULL, *other = NULL;
    size_t len = 0;
    long r = syscall(SYS_get_robust_list, 0, &head, &len);
    printf("robust list %ld, there %d, length %zu\n", r, head != NULL, len);
    r = syscall(SYS_set_robust_list, head, len);
    printf("set %ld, bad length %d\n", r, syscall(SYS_set_robust_list, head, 1) < 0 ? errno : 0);
    r = syscall(SYS_get_robust_list, gettid(), &other, &len);
    printf("same %d\n", other == head);
}

int main(void) {
    pthread_t t[4];
    setvbuf(stdout, NULL, _IONBF, 0);
    struct timespec soon = {0, 1000000}, past = {1, 0};
    printf("again %ld, timeout %ld", futex(&a, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), futex(&a, FUTEX_WAIT_PRIVATE, 0, &soon, NULL, 0));
    printf(", absolute %ld\n", futex(&a, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 0, &past, NULL, ~0u));
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, waits, NULL);
    printf("woken %ld\n", wake(&a, 4));
    join(t, 4, "wait");
    in = 0;
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, waits_bits, (void *)(uintptr_t)(1 << i));
    long n = 0;
    while (n < 1) n += futex(&a, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 2);
    pthread_join(t[1], NULL);
    while (n < 2) n += futex(&a, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 1);
    pthread_join(t[0], NULL);
    printf("bitsets %ld\n", n);
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, waits, NULL);
    /* The kernel has a waiter that wakes without a reason wait at its first address again. */
    long requeued = 0;
    for (n = 0; n < 2; n += futex(&b, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0))
        requeued += futex(&a, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)(long)2, &b, 0);
    printf("requeued %d woken %ld\n", requeued >= 2, n);
    join(t, 2, "requeue");
    b = 5;
    n = futex(&a, FUTEX_WAKE_OP_PRIVATE, 1, (void *)(long)1, &b, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 5));
    printf("wake_op %ld b %u\n", n, b);
    uint32_t pi = 0;
    long locked = futex(&pi, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
    printf("lock_pi %ld owner %d", locked, (pi & FUTEX_TID_MASK) == (uint32_t)gettid());
    printf(" again %ld", futex(&pi, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
    long unlocked = futex(&pi, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
    printf(" unlock %ld %u\n", unlocked, pi);
    struct { uint64_t val, addr; uint32_t flags, pad; } v[2] = {{0, (uintptr_t)&a, 2 | FUTEX_PRIVATE_FLAG, 0}, {8, (uintptr_t)&b, 2 | FUTEX_PRIVATE_FLAG, 0}};
    struct timespec mono;
    clock_gettime(CLOCK_MONOTONIC, &mono);
    long r = syscall(SYS_futex_waitv, v, 2, 0, &mono, CLOCK_MONOTONIC);
    printf("waitv %d", r < 0 ? errno : 0);
    v[1].val = 7;
    r = syscall(SYS_futex_waitv, v, 2, 0, &mono, CLOCK_MONOTONIC);
    printf(" %d\n", r < 0 ? errno : 0);
    robust(0, "robust left");
    robust(2, "robust mended");
    robust(1, "robust pi left");
    robust(3, "robust pi mended");
    for (int how = 0; how < 5; how++) between_processes(how);
    lists();
    r = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    printf("membarrier %d", r > 0);
    printf(" register %ld", syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
    printf(" private %ld", syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
    printf(" global %ld\n", syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0));
    /* Barriers for rseq are offered where rseq is: who finds the one counts on the other. */
    int rseq = syscall(SYS_rseq, NULL, 0, 0, 0) == -1 && errno != ENOSYS;
    int registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0;
    int barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0;
    printf("membarrier for rseq: offered %d register %d barrier %d\n",
           rseq == !!(r & MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) &&
               rseq == !!(r & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ),
           rseq == registered, rseq == barrier);
    unsigned cpu = 999, node = 999;
    r = syscall(SYS_getcpu, &cpu, &node, NULL);
    printf("getcpu %ld %d %d sched_getcpu %d\n", r, cpu < 999, node < 999, sched_getcpu() >= 0);
    return 0;
}

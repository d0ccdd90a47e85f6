// flags: -pthread
// errors: 1
/* Designs of managed runtimes: write barriers and safepoints by page protection, null checks, growing heaps by faults,
 * recovery from stack overflow, in several threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#pragma GCC diagnostic ignored "-Winfinite-recursion"

enum { PAGES = 64, PAGE = 4096 };
static char *heap, *safepoint, *lazy;
static _Atomic long barrier_hits, safepoint_hits, lazy_hits, null_hits, other;
static unsigned char dirty[PAGES];
static _Thread_local sigjmp_buf overflow;
static _Atomic int released;
static _Atomic long left;
static _Thread_local char *low, *high;

static void on_fault(int sig, siginfo_t *si, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    char *at = si->si_addr;
    (void)sig;
    if (at >= heap && at < heap + PAGES * PAGE) {
        atomic_fetch_add(&barrier_hits, 1);
        dirty[(at - heap) / PAGE] = 1;
        mprotect(heap + (at - heap) / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE);
    } else if (at >= safepoint && at < safepoint + PAGE) {
        atomic_fetch_add(&safepoint_hits, 1);
        while (!atomic_load(&released)) sched_yield();
        atomic_fetch_add(&left, 1);
    } else if (at >= lazy && at < lazy + (64 << 20)) {
        atomic_fetch_add(&lazy_hits, 1);
        mprotect((char *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE);
    } else if (at < (char *)PAGE) {
        atomic_fetch_add(&null_hits, 1);
        g[REG_RIP] = g[REG_RBX]; /* where the code generator wants null checks to go */
    } else if (at >= low && at < high) {
        siglongjmp(overflow, 1);
    } else {
        atomic_fetch_add(&other, 1);
        _exit(99);
    }
}

static int null_check(long *p) {
    int r;
    __asm__ volatile("lea 2f(%%rip), %%rbx\n xor %%eax, %%eax\n mov 8(%1), %%rcx\n mov $1, %%eax\n jmp 3f\n 2: mov $2, %%eax\n 3:"
                     : "=&a"(r) : "r"(p) : "rbx", "rcx", "memory");
    return r;
}

__attribute__((noinline)) static long deep(long n) {
    volatile char space[200];
    space[n % 200] = (char)n;
    return deep(n + 1) + space[0];
}
static void *overflowing(void *unused) {
    pthread_attr_t attr;
    void *base;
    size_t size;
    (void)unused;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &base, &size);
    low = (char *)base - PAGE, high = (char *)base + PAGE;
    stack_t ss = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&ss, 0);
    long times = 0;
    for (volatile int i = 0; i < 10; i++)
        if (sigsetjmp(overflow, 1) == 0) deep(0);
        else times++;
    ss.ss_flags = SS_DISABLE;
    void *mem = ss.ss_sp;
    sigaltstack(&ss, 0);
    free(mem);
    return (void *)times;
}

static _Atomic int running, stop;
static void *mutator(void *unused) {
    volatile char *poll = safepoint;
    long n = 0;
    (void)unused;
    atomic_fetch_add(&running, 1);
    while (!atomic_load(&stop)) {
        n += *poll;
        n++;
    }
    return (void *)(n > 0 ? 1l : 0l);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &sa, 0);
    heap = mmap(0, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    safepoint = mmap(0, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    lazy = mmap(0, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    uint32_t x = 1;
    long wanted = 0, cards = 0;
    for (int cycle = 0; cycle < 800; cycle++) {
        mprotect(heap, PAGES * PAGE, PROT_READ);
        memset(dirty, 0, sizeof dirty);
        unsigned char expect[PAGES] = {0};
        for (int i = 0; i < 40; i++) {
            x = x * 1664525 + 1013904223;
            int page = x >> 26;
            expect[page] = 1;
            ((volatile uint32_t *)heap)[page * (PAGE / 4) + (x >> 8) % (PAGE / 4)] += x;
        }
        for (int i = 0; i < PAGES; i++) wanted += expect[i];
        cards += memcmp(expect, dirty, PAGES) == 0;
    }
    uint32_t sum = 0;
    for (int i = 0; i < PAGES * PAGE / 4; i++) sum = sum * 31 + ((uint32_t *)heap)[i];
    printf("write barrier: hits as wanted %d, at least 22000 %d, cards %ld, sum %x\n", barrier_hits == wanted, wanted > 22000, cards, sum);

    int checks = 0;
    long object[2] = {1, 2};
    for (int i = 0; i < 20000; i++) checks += null_check(i % 3 ? object : 0);
    printf("null checks: %d, %ld faults\n", checks, (long)null_hits);

    for (long i = 0; i < 64 << 20; i += 10007) lazy[i] = (char)i;
    long lsum = 0;
    for (long i = 0; i < 64 << 20; i += 10007) lsum += lazy[i];
    printf("lazy heap: %ld faults, sum %ld\n", (long)lazy_hits, lsum);

    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, mutator, 0);
    while (running < 3) {}
    long stopped = 0;
    for (int round = 0; round < 25; round++) {
        long before = safepoint_hits;
        atomic_store(&released, 0);
        mprotect(safepoint, PAGE, PROT_NONE);
        while (safepoint_hits < before + 3) sched_yield();
        stopped += safepoint_hits == before + 3;
        mprotect(safepoint, PAGE, PROT_READ);
        atomic_store(&released, 1);
        while (left < safepoint_hits) sched_yield();
    }
    stop = 1;
    long ok = 0;
    for (int i = 0; i < 3; i++) {
        void *r;
        pthread_join(t[i], &r);
        ok += (long)r;
    }
    printf("safepoints: all stopped %ld times, %ld went on\n", stopped, ok);

    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    long times = 0;
    for (int i = 0; i < 3; i++) pthread_create(&t[i], &attr, overflowing, 0);
    for (int i = 0; i < 3; i++) {
        void *r;
        pthread_join(t[i], &r);
        times += (long)r;
    }
    printf("stack overflows: %ld; other faults %ld\n", times, (long)other);
    return 0;
}

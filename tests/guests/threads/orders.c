/* Litmus tests with four threads and with every width: what x86 forbids does not occur. */
// flags: -mcx16
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define ROUNDS 3000
typedef struct { volatile long v; char pad[120]; } cell;
static cell x, y, z, r[8], at[4], past[4];
static pthread_barrier_t bar;
static int test;
static long forbidden;

static void meet(cell *c, int me, long n) {
    c[me].v = n;
    for (int i = 0; i < 4; i++)
        for (int k = 0; c[i].v < n; k++)
            if (k > 200) sched_yield();
}

#define MFENCE __asm__ volatile("mfence" ::: "memory")
static void iriw(int me, long n) {
    switch (me) {
    case 0: x.v = n; break;
    case 1: y.v = n; break;
    case 2: r[0].v = x.v; __asm__ volatile("" ::: "memory"); r[1].v = y.v; break;
    case 3: r[2].v = y.v; __asm__ volatile("" ::: "memory"); r[3].v = x.v; break;
    }
}
static int iriw_bad(long n) { return r[0].v == n && r[1].v != n && r[2].v == n && r[3].v != n; }
static void wrc(int me, long n) { /* write-to-read causality */
    switch (me) {
    case 0: x.v = n; break;
    case 1: r[0].v = x.v; y.v = r[0].v; break;
    case 2: r[1].v = y.v; r[2].v = x.v; break;
    }
}
static int wrc_bad(long n) { return r[0].v == n && r[1].v == n && r[2].v != n; }
static void mp3(int me, long n) { /* message over three cells, narrow stores */
    switch (me) {
    case 0:
        *(volatile char *)&x.v = (char)(n | 1);
        *(volatile short *)&y.v = (short)(n | 1);
        *(volatile int *)&z.v = (int)n;
        break;
    case 1:
        r[0].v = (int)z.v == (int)n;
        r[1].v = *(volatile short *)&y.v == (short)(n | 1);
        r[2].v = *(volatile char *)&x.v == (char)(n | 1);
        break;
    case 2: r[3].v = *(volatile short *)&y.v == (short)(n | 1); r[4].v = *(volatile char *)&x.v == (char)(n | 1); break;
    }
}
static int mp3_bad(long n) { (void)n; return (r[0].v && (!r[1].v || !r[2].v)); }
static void sb4(int me, long n) { /* store buffering in a ring of four, fenced */
    cell *mine[4] = {&x, &y, &z, &r[7]}, *next[4] = {&y, &z, &r[7], &x};
    mine[me]->v = n;
    if (me & 1)
        MFENCE;
    else
        __sync_fetch_and_add(&r[me + 1].v, 0);
    r[me == 3 ? 6 : me * 2].v = next[me]->v;
}
static int sb4_bad(long n) { return r[0].v != n && r[2].v != n && r[4].v != n && r[6].v != n; }
static void coherence(int me, long n) { /* one cell, two reads each: never backwards */
    if (me < 2)
        x.v = 2 * n + me;
    else {
        r[me * 2 - 4].v = x.v;
        r[me * 2 - 3].v = x.v;
    }
}
static int coherence_bad(long n) {
    return (r[0].v == 2 * n && r[1].v == 2 * n + 1 && r[2].v == 2 * n + 1 && r[3].v == 2 * n) || (r[0].v >= 2 * n && r[1].v < 2 * n);
}
static __uint128_t pair __attribute__((aligned(16)));
static void wide(int me, long n) { /* cmpxchg16b is one access */
    __uint128_t seen = 0;
    if (me < 2) {
        __uint128_t v = ((__uint128_t)(n * 4 + me) << 64) | (unsigned long)(n * 4 + me), old = pair;
        uint64_t lo = (uint64_t)old, hi = (uint64_t)(old >> 64);
        unsigned char ok;
        do
            __asm__ volatile("lock cmpxchg16b %1; sete %0" : "=q"(ok), "+m"(pair), "+a"(lo), "+d"(hi) : "b"((uint64_t)v), "c"((uint64_t)(v >> 64)) : "cc", "memory");
        while (!ok);
    } else {
        uint64_t lo = 0, hi = 0;
        __asm__ volatile("lock cmpxchg16b %0" : "+m"(pair), "+a"(lo), "+d"(hi) : "b"(0l), "c"(0l) : "cc", "memory");
        r[me].v = lo != hi;
    }
}
static int wide_bad(long n) { (void)n; return r[2].v || r[3].v; }
static void lb(int me, long n) { /* load buffering among three */
    cell *from[3] = {&x, &y, &z}, *to[3] = {&y, &z, &x};
    if (me > 2) return;
    r[me].v = from[me]->v;
    to[me]->v = n;
}
static int lb_bad(long n) { return r[0].v == n && r[1].v == n && r[2].v == n; }
static void xchgs(int me, long n) { /* exchanges are ordered for all */
    long v = n;
    switch (me) {
    case 0: __asm__ volatile("xchg %0, %1" : "+r"(v), "+m"(x.v)::"memory"); r[0].v = y.v; break;
    case 1: __asm__ volatile("xchg %0, %1" : "+r"(v), "+m"(y.v)::"memory"); r[1].v = x.v; break;
    }
}
static int xchgs_bad(long n) { return r[0].v != n && r[1].v != n; }

static const struct { const char *name; void (*run)(int, long); int (*bad)(long); } tests[] = {
    {"IRIW", iriw, iriw_bad}, {"WRC", wrc, wrc_bad}, {"MP of three widths", mp3, mp3_bad}, {"SB of four", sb4, sb4_bad},
    {"coherence", coherence, coherence_bad}, {"cmpxchg16b", wide, wide_bad}, {"LB of three", lb, lb_bad}, {"SB with xchg", xchgs, xchgs_bad},
};

static void *side(void *arg) {
    int me = (int)(intptr_t)arg;
    for (long n = 1; n <= ROUNDS; n++) {
        meet(at, me, n);
        tests[test].run(me, n);
        meet(past, me, n);
        if (me == 0 && tests[test].bad(n)) forbidden++;
        meet(at + 0, me, n); /* already there: no wait; the check ends before the next round's gate */
        pthread_barrier_wait(&bar);
    }
    return NULL;
}

int main(void) {
    for (test = 0; test < (int)(sizeof tests / sizeof *tests); test++) {
        pthread_t t[4];
        forbidden = 0;
        x.v = y.v = z.v = 0;
        pair = 0;
        for (int i = 0; i < 8; i++) r[i].v = 0;
        for (int i = 0; i < 4; i++) at[i].v = past[i].v = 0;
        pthread_barrier_init(&bar, NULL, 4);
        for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, side, (void *)(intptr_t)i);
        for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
        printf("%s: %ld forbidden\n", tests[test].name, forbidden);
    }
    return 0;
}

/* Memory-ordering litmus tests: outcomes that x86 forbids do not occur, atomics are atomic. */
// flags: -pthread -mcx16
// modes: default tiny-cache evict evict-often far-images
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 20000
/* Seconds for a test: on a busy machine the two threads seldom run at once, and each meeting costs a turn. */
#define MOST 3
struct line {
    volatile long v;
    char pad[120];
};
static struct line x, y, r[4], go[4];
static int test;
static time_t begun;
static volatile long last; /* the round after which both end */

/* Each thread of a round starts when both are there. */
static void meet(int me, long n) {
    go[me].v = n;
    while (go[!me].v < n) __builtin_ia32_pause();
}

static void *side(void *arg) {
    int me = (int)(intptr_t)arg;
    for (long n = 1; n <= last; n++) {
        if (me == 0 && n % 64 == 0 && time(NULL) - begun >= MOST) last = n;
        meet(me, 2 * n - 1);
        long a, b;
        switch (test * 2 + me) {
        case 0: /* message passing */
            x.v = n;
            y.v = n;
            break;
        case 1:
            a = y.v;
            b = x.v;
            if (a == n && b != n) r[0].v++;
            break;
        case 2: /* store buffering with a fence */
        case 3:
            if (me == 0) {
                x.v = n;
                __asm__ volatile("mfence" ::: "memory");
                r[2].v = y.v;
            } else {
                y.v = n;
                __asm__ volatile("mfence" ::: "memory");
                r[3].v = x.v;
            }
            break;
        case 4: /* store buffering with locked instructions */
        case 5:
            if (me == 0) {
                __asm__ volatile("xchg %0, %1" : "=r"(a), "+m"(x.v) : "0"(n) : "memory");
                r[2].v = y.v;
            } else {
                __asm__ volatile("xchg %0, %1" : "=r"(a), "+m"(y.v) : "0"(n) : "memory");
                __asm__ volatile("lock orq $0, (%%rsp)" ::: "memory", "cc");
                r[3].v = x.v;
            }
            break;
        case 6: /* load buffering */
            a = x.v;
            y.v = n;
            r[2].v = a;
            break;
        case 7:
            a = y.v;
            x.v = n;
            r[3].v = a;
            break;
        }
        meet(me, 2 * n);
        if (me == 0) {
            if ((test == 1 || test == 2) && r[2].v != n && r[3].v != n) r[0].v++;
            if (test == 3 && r[2].v == n && r[3].v == n) r[0].v++;
        }
        /* The next round's writes come after the check. */
        go[me + 2].v = n;
        while (go[!me + 2].v < n) __builtin_ia32_pause();
    }
    return NULL;
}

static long counter, counter2[2] __attribute__((aligned(16)));
static unsigned char small;
static void *adds(void *arg) {
    for (int i = 0; i < 100000; i++) {
        __asm__ volatile("lock incq %0" : "+m"(counter)::"cc");
        __asm__ volatile("lock addb $1, %0" : "+m"(small)::"cc");
        if (i % 16 == 0) {
            long a = counter2[0], d = counter2[1];
            unsigned char ok;
            do
                __asm__ volatile("lock cmpxchg16b %1; sete %0"
                                 : "=q"(ok), "+m"(counter2), "+a"(a), "+d"(d)
                                 : "b"(a + 1), "c"(d + 2)
                                 : "cc", "memory");
            while (!ok);
        }
    }
    return arg;
}

int main(void) {
    static const char *const name[] = {"message passing", "store buffering", "with xchg", "load buffering"};
    pthread_t t[2];
    for (test = 0; test < 4; test++) {
        x.v = y.v = 0;
        begun = time(NULL);
        last = ROUNDS;
        for (int i = 0; i < 4; i++) r[i].v = go[i].v = 0;
        for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, side, (void *)(intptr_t)i);
        for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
        printf("%s: %ld forbidden\n", name[test], r[0].v);
    }
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, adds, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    printf("counts %ld %d %ld %ld\n", counter, small, counter2[0], counter2[1]);
    return 0;
}

/* A fast timer's signals come amid moves of undefined data, and find each value and its V bits whole.
 * @options: --track-origins=yes */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "valgrind/memcheck.h"

#define MANY 64

struct holes {
    char a;
    long b;
    short c;
    double d;
    char e[5];
    long f;
};

static volatile long hits;
static struct holes kept[MANY], *heap;

/* Is nothing defined but what the handler has set? */
static int is_as_left(const struct holes *h) {
    struct holes v;
    unsigned char *bytes = (unsigned char *)&v;
    if (VALGRIND_GET_VBITS(h, &v, sizeof v) != 1) return !RUNNING_ON_VALGRIND;
    for (size_t i = 0; i < sizeof v; i++) {
        size_t at = i - offsetof(struct holes, b);
        if (bytes[i] != (at < sizeof v.b ? 0 : 0xff)) return 0;
    }
    return 1;
}

static void on_alarm(int sig) {
    struct holes l, m;
    volatile struct holes *p = &l;
    (void)sig;
    p->b = ++hits;
    m = l;
    memcpy(&kept[hits % MANY], &m, sizeof m);
    heap[hits % MANY] = m;
}

__attribute__((noinline)) static void copy(struct holes *to, const struct holes *from, int n) {
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

__attribute__((noinline)) static long deep(int n, struct holes *h) {
    struct holes l[4];
    volatile struct holes *p = l;
    p[0].b = n;
    copy(h, l, 4);
    copy(l, h, 4);
    return n ? deep(n - 1, h + 4) + l[0].b : l[0].b;
}

int main(void) {
    struct itimerval fast = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
    long sum = 0, rounds = 0;
    struct holes *a = malloc(MANY * sizeof *a), *b = malloc(MANY * sizeof *b);
    heap = malloc(MANY * sizeof *heap);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &fast, NULL);
    for (; rounds < 500 || hits < 100; rounds++) {
        for (int i = 0; i < MANY; i++)
            a[i].a = 1, a[i].b = i;
        copy(b, a, MANY);
        sum += deep(MANY / 4 - 1, b);
        copy(a, b, MANY);
        sum += a[0].b;
    }
    setitimer(ITIMER_REAL, &off, NULL);
    if (sum != rounds * (120 + 15)) return 1;
    for (long k = hits; k > hits - MANY; k--)
        if (kept[k % MANY].b != k || heap[k % MANY].b != k) return 2;
    for (int k = 0; k < MANY; k++)
        if (!is_as_left(&kept[k]) || !is_as_left(&heap[k])) return 3;
    free(a), free(b), free(heap);
    return 0;
}

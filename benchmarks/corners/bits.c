#include "corners.h"
#include <pthread.h>
#include <stdint.h>

/* V bits that are not whole bytes, and undefined data that is computed with. */
struct fields {
    unsigned a : 3, b : 5, c : 7, d : 9;
};

static void bit_fields(long n) {
    struct fields *all = malloc(1000 * sizeof *all);
    volatile unsigned sum = 0;
    for (long i = 0; i < n; i++) {
        struct fields *one = &all[i % 1000];
        one->b = (unsigned)i & 31, one->c = (unsigned)i & 127;
        sum = sum + one->b + one->c; /* a and d stay undefined */
    }
}

static void undefined_sums(long n) {
    unsigned *all = malloc(4096 * sizeof *all), *to = malloc(4096 * sizeof *to);
    for (long k = 0; k < n; k++) {
        for (int i = 0; i < 4096; i++) to[i] = all[i] * 3 + (all[i] >> 2);
        asm volatile("" ::"r"(to), "r"(all) : "memory");
    }
}

__attribute__((optimize("no-tree-vectorize"))) static void undefined_scalar(long n) {
    unsigned *all = malloc(4096 * sizeof *all), *to = malloc(4096 * sizeof *to);
    for (long k = 0; k < n; k++) {
        for (int i = 0; i < 4096; i++) to[i] = (all[i] & 0xff00ff) + (all[i] << 3) * 5;
        asm volatile("" ::"r"(to), "r"(all) : "memory");
    }
}

static void undefined_doubles(long n) {
    double *all = malloc(4096 * sizeof *all), *to = malloc(4096 * sizeof *to);
    for (long k = 0; k < n; k++) {
        for (int i = 0; i < 4096; i++) to[i] = all[i] * 3 + to[i];
        asm volatile("" ::"r"(to), "r"(all) : "memory");
    }
}

static void undefined_x87(long n) {
    long double *all = malloc(1000 * sizeof *all), *to = malloc(1000 * sizeof *to);
    for (long k = 0; k < n; k++) {
        for (int i = 0; i < 1000; i++) to[i] = all[i] * 2 + 1;
        asm volatile("" ::"r"(to), "r"(all) : "memory");
    }
}

static void undefined_hash(long n) {
    uint64_t *all = malloc(4096 * sizeof *all), sum = 14695981039346656037u;
    for (long k = 0; k < n; k++) {
        for (int i = 0; i < 4096; i++) sum = (sum ^ all[i]) * 1099511628211u, sum = sum << 13 | sum >> 51;
        asm volatile("" ::"r"(sum), "r"(all) : "memory");
    }
}

static void undefined_conversions(long n) {
    int *all = malloc(4096 * sizeof *all);
    double *to = malloc(4096 * sizeof *to);
    for (long k = 0; k < n; k++) {
        for (int i = 0; i < 4096; i++) to[i] = all[i];
        for (int i = 0; i < 4096; i++) all[i] = (int)(to[i] * 0.5);
        asm volatile("" ::"r"(to), "r"(all) : "memory");
    }
}

static void partly(long n) {
    struct padded {
        char c;
        int i;
        short s;
        long l;
    } *all = malloc(1000 * sizeof *all), here;
    for (long k = 0; k < n; k++) {
        struct padded *one = &all[k % 1000];
        one->c = 1, one->i = 2, one->s = 3, one->l = k;
        here = *one;
        asm volatile("" ::"r"(&here) : "memory");
        all[(k + 7) % 1000] = here;
    }
}

static void undefined_memcmp(long n) {
    char *one = malloc(100), *other = malloc(100);
    memset(one, 1, 100), memset(other, 1, 100);
    long sum = 0;
    for (long i = 0; i < n; i++) sum += memcmp(one, other, (size_t)(i % 100));
    must(!sum);
}

static void fresh(long n) {
    for (long i = 0; i < n; i++) {
        volatile char *at = malloc(64);
        for (int k = 0; k < 64; k++) at[k] = (char)k;
        free((void *)at);
    }
}

static void *churn(void *arg) {
    unsigned at = (unsigned)(uintptr_t)arg;
    static __thread char *live[1000];
    for (long i = 0; i < 100000; i++) {
        at = at * 1664525 + 1013904223;
        unsigned k = (at >> 8) % 1000;
        free(live[k]);
        live[k] = malloc((at >> 20) % 300);
        must(live[k] != 0);
    }
    for (int k = 0; k < 1000; k++) free(live[k]), live[k] = 0;
    return 0;
}

static void mixed(long n) {
    for (long i = 0; i < n; i++) churn((void *)i);
}

static void mixed_threads(long n) {
    for (long i = 0; i < n; i++) {
        pthread_t thread[4];
        for (long k = 0; k < 4; k++) must(!pthread_create(&thread[k], 0, churn, (void *)(k + 1)));
        for (int k = 0; k < 4; k++) pthread_join(thread[k], 0);
    }
}

/* Leak searches: a million blocks of which none is lost; a list; blocks behind one large root. */
static void **kept;

static void leak_blocks(long n) {
    kept = malloc((size_t)n * sizeof *kept);
    for (long i = 0; i < n; i++) kept[i] = malloc(16);
}

static void leak_list(long n) {
    for (long i = 0; i < n; i++) {
        void **one = malloc(24);
        *one = kept, kept = one;
    }
}

static void leak_lost(long n) {
    for (long i = 0; i < n; i++) must(malloc(24) != 0);
}

static void leak_lost_list(long n) {
    leak_list(n);
    kept = 0;
}

static void leak_root(long n) {
    char *large = malloc((size_t)n);
    memset(large, 0x11, (size_t)n);
    kept = (void **)large;
}

static void leak_root_pointers(long n) {
    kept = malloc((size_t)n);
    for (long i = 0; i < n / 8; i++) kept[i] = kept;
}

const struct corner bit_corners[] = {{"bits-fields", 2000000, bit_fields},
                                     {"bits-vector", 1000, undefined_sums},
                                     {"bits-scalar", 1000, undefined_scalar},
                                     {"bits-doubles", 1000, undefined_doubles},
                                     {"bits-x87", 3000, undefined_x87},
                                     {"bits-hash", 1000, undefined_hash},
                                     {"bits-conversions", 1000, undefined_conversions},
                                     {"bits-padding", 3000000, partly},
                                     {"memcmp", 1000000, undefined_memcmp},
                                     {"heap-fresh", 300000, fresh},
                                     {"heap-mixed", 10, mixed},
                                     {"heap-mixed-threads", 3, mixed_threads},
                                     {"leak-blocks", 500000, leak_blocks},
                                     {"leak-list", 500000, leak_list},
                                     {"leak-lost", 500000, leak_lost},
                                     {"leak-lost-list", 300000, leak_lost_list},
                                     {"leak-root", 200000000, leak_root},
                                     {"leak-root-pointers", 200000000, leak_root_pointers},
                                     {0, 0, 0}};

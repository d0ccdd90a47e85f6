#include "corners.h"
#include <pthread.h>

static char *block, *freed;
static int *undefined;
int counted;

static void start(void) {
    block = malloc(10);
    freed = malloc(10);
    undefined = malloc(4);
    free(freed);
    for (int i = 0; i < 1000; i++) /* so that there are records to look through */
        must(malloc(16) != 0);
}

/* Each call is an error of its own: Valgrind merges those of one superblock. */
#define SITES(what, address)                                                                                           \
    asm volatile("jmp 2f\n1: " what                                                                                    \
                 "; ret\n2: sub $128,%%rsp\n.rept 20000\ncall 1b\n.endr\nadd $128,%%rsp" ::"r"(address)                \
                 : "rax", "cc", "memory")

static __attribute__((noinline)) void sites(void) { SITES("movb 10(%0),%%al", block); }
static __attribute__((noinline)) void sites_freed(void) { SITES("movb 3(%0),%%al", freed); }
static __attribute__((noinline)) void sites_undefined(void) {
    SITES("cmpl $0,(%0); je 3f; incl counted(%%rip); 3:", undefined);
}

static void distinct(long n) {
    start();
    for (long i = 0; i < n; i++) sites();
}

static void distinct_freed(long n) {
    start();
    for (long i = 0; i < n; i++) sites_freed();
}

static void distinct_undefined(long n) {
    start();
    for (long i = 0; i < n; i++) sites_undefined();
}

static __attribute__((noinline)) int stack_of(unsigned way, int depth) {
    int below;
    if (!depth) return ((volatile char *)block)[10];
    switch (way % 20) {
#define WAY(n)                                                                                                         \
    case n:                                                                                                            \
        below = stack_of(way / 20, depth - 1);                                                                         \
        asm volatile("nop # " #n : "+r"(below));                                                                       \
        return below;
        WAY(0)
        WAY(1)
        WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7) WAY(8) WAY(9) WAY(10) WAY(11) WAY(12) WAY(13) WAY(14) WAY(15) WAY(16)
            WAY(17) WAY(18) WAY(19)
    }
    return 0;
}

/* One instruction, one stack for each path through the calls: 8,000. */
static void stacks(long n) {
    start();
    for (long i = 0; i < n; i++) stack_of((unsigned)i, 3);
}

static void *one_site(void *n) {
    for (long i = 0; i < (long)n; i++) (void)((volatile char *)block)[10];
    return 0;
}

static void repeated(long n) {
    start();
    one_site((void *)n);
}

static void repeated_undefined(long n) {
    volatile long sum = 0;
    start();
    for (long i = 0; i < n; i++)
        if (*(volatile int *)undefined) sum = sum + 1;
}

static void *all_sites(void *arg) {
    sites();
    return arg;
}

static void eight(long n) {
    pthread_t thread[8];
    start();
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < 8; k++) must(!pthread_create(&thread[k], 0, i ? all_sites : one_site, (void *)100000));
        for (int k = 0; k < 8; k++) pthread_join(thread[k], 0);
    }
}

const struct corner error_corners[] = {{"errors-read", 1, distinct},
                                       {"errors-freed", 1, distinct_freed},
                                       {"errors-undefined", 1, distinct_undefined},
                                       {"errors-stacks", 8000, stacks},
                                       {"errors-repeated", 1000000, repeated},
                                       {"errors-repeated-undefined", 1000000, repeated_undefined},
                                       {"errors-threads", 2, eight},
                                       {0, 0, 0}};

/* Threads that copy undefined words, and ask for blocks, at the same time: each word's origin stays its own.
 * @build: -pthread
 * @options: --track-origins=yes */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, WORDS = 64, TURNS = 2000 };

static volatile int reached;
static long *kept[THREADS];
static pthread_barrier_t barrier;

__attribute__((noinline)) static void tested(long x) {
    if (x & 1)
        reached++;
}

__attribute__((noinline)) static void all(const long *words) {
    for (int i = 0; i < WORDS; i++)
        tested(words[i]);
}

__attribute__((noinline)) static long *source(int which) {
    switch (which) {
    case 0: return malloc(8);
    case 1: return malloc(16);
    default: return malloc(24);
    }
}

static void *run(void *number) {
    int which = (int)(long)number;
    volatile long *from = source(which);
    kept[which] = malloc(WORDS * sizeof(long));
    pthread_barrier_wait(&barrier);
    for (int turn = 0; turn < TURNS; turn++) {
        volatile long *block = malloc(WORDS * sizeof(long)), on_stack[4];
        for (int i = 0; i < WORDS; i++) {
            on_stack[i & 3] = *from;
            block[i] = on_stack[i & 3];
        }
        if (turn == TURNS - 1)
            for (int i = 0; i < WORDS; i++) ((volatile long *)kept[which])[i] = block[i];
        free((void *)block);
    }
    free((void *)from);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    all(kept[0]);
    all(kept[1]);
    all(kept[2]);
    for (int i = 0; i < THREADS; i++) free(kept[i]);
    return reached > THREADS * WORDS;
}

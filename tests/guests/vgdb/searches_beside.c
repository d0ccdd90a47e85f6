/* Searches for leaks while other threads hold blocks in registers alone: the status tells how many found a loss. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

enum { THREADS = 4, SEARCHES = 50 };

static volatile bool ends;

static void *allocates(void *arg) {
    while (!ends)
        for (size_t i = 0; i < 200; i++) free(malloc(10 + i * 7));
    return arg;
}

int main(void) {
    pthread_t threads[THREADS];
    unsigned long lost, dubious, reachable, suppressed;
    int found = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, allocates, NULL);
    for (int i = 0; i < SEARCHES; i++) {
        VALGRIND_DO_QUICK_LEAK_CHECK;
        VALGRIND_COUNT_LEAK_BLOCKS(lost, dubious, reachable, suppressed);
        found += lost != 0;
    }
    ends = true;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return found;
}

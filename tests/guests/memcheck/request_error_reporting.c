/* DISABLE_ERROR_REPORTING nests, counts for its thread alone, and COUNT_ERRORS with it.  @build: -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

static char *block;
static void *run(void *unused) {
    block[8] = 1; /* another thread: reported */
    return 0;
}

int main(void) {
    pthread_t t;
    char local[8];
    volatile int sum = 0;
    block = malloc(4);
    VALGRIND_DISABLE_ERROR_REPORTING;
    VALGRIND_DISABLE_ERROR_REPORTING;
    block[4] = 1;
    if (local[3])
        sum++;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    VALGRIND_ENABLE_ERROR_REPORTING;
    block[5] = 1;
    fprintf(stdout, "%d\n", (int)VALGRIND_COUNT_ERRORS);
    VALGRIND_ENABLE_ERROR_REPORTING;
    block[6] = 1;
    VALGRIND_ENABLE_ERROR_REPORTING; /* one too many */
    VALGRIND_CHECK_MEM_IS_DEFINED(local, 8);
    free(block);
    free(block);
    fprintf(stdout, "%d\n", (int)VALGRIND_COUNT_ERRORS);
    return 0;
}

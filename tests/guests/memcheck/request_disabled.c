/* Errors disabled and enabled in other numbers: too often enabled counts as enabled, and a thread that ends with
 * errors disabled is told of, however it ends; a child goes on as its parent was.
 * @build: -pthread */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "interpose/memcheck.h"

static volatile char *block;
static volatile char sink;
static int waits[2];

static void *surplus(void *arg) {
    VALGRIND_ENABLE_ERROR_REPORTING;
    VALGRIND_ENABLE_ERROR_REPORTING;
    VALGRIND_DISABLE_ERROR_REPORTING;
    sink = block[10];
    VALGRIND_ENABLE_ERROR_REPORTING;
    sink = block[11];
    return NULL;
}

static void *forgets(void *arg) {
    VALGRIND_DISABLE_ERROR_REPORTING;
    VALGRIND_DISABLE_ERROR_REPORTING;
    return NULL;
}

static void *begins_enabled(void *arg) {
    sink = block[12];
    return NULL;
}

static void *forks(void *arg) {
    VALGRIND_DISABLE_ERROR_REPORTING;
    if (!fork()) {
        sink = block[13];
        VALGRIND_ENABLE_ERROR_REPORTING;
        sink = block[14];
        _exit(0);
    }
    wait(NULL);
    if (!vfork()) {
        sink = block[15];
        _exit(0);
    }
    wait(NULL);
    VALGRIND_ENABLE_ERROR_REPORTING;
    return NULL;
}

static void *stays(void *arg) {
    VALGRIND_DISABLE_ERROR_REPORTING;
    write(waits[1], "", 1);
    for (;;)
        pause();
}

int main(void) {
    void *(*work[])(void *) = {surplus, forgets, begins_enabled, forks, stays};
    pthread_t t;
    char told;
    block = malloc(10);
    pipe(waits);
    for (int i = 0; i < 5; i++) {
        pthread_create(&t, NULL, work[i], NULL);
        if (work[i] != stays)
            pthread_join(t, NULL);
    }
    read(waits[0], &told, 1);
    free((void *)block);
    VALGRIND_DISABLE_ERROR_REPORTING;
    abort();
}

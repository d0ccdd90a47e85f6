/* Leak records behind an error of another thread are thread 1's, which has a name of its own.  @build: -pthread
 * @options: --leak-check=full */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

static void *run(void *argument) {
    *(volatile char **)argument = malloc(5);
    *(*(volatile char **)argument + 5) = 1;
    return NULL;
}

int main(void) {
    static char *block;
    pthread_t t;
    pthread_setname_np(pthread_self(), "first");
    pthread_create(&t, NULL, run, &block);
    pthread_join(t, NULL);
    block = NULL;
    return 0;
}

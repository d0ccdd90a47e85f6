/* Searches for leaks that a thread asks for: their records are that thread's, those at the end the first one's.
 * @build: -pthread
 * @options: --leak-check=full */
#include <pthread.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

static void *searches(void *arg) {
    char *p = malloc(3);
    p[3] = 1;
    p = malloc(7);
    p = NULL;
    VALGRIND_DO_LEAK_CHECK;
    return NULL;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, searches, NULL);
        pthread_join(thread, NULL);
        char *p = malloc(1);
        p[1] = 0;
    }
    return 0;
}

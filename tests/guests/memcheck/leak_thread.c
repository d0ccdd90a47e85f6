/* A thread loses a block; a second one keeps it.
 * @build: -pthread
 * @options: --leak-check=full */
#include <pthread.h>
#include <stdlib.h>

static void *lose(void *arg) {
    volatile char *p = malloc(44);
    p[0] = 1;
    return arg;
}
static void *keep(void *arg) {
    (void)arg;
    return malloc(55);
}

int main(void) {
    pthread_t t;
    static void *kept;
    pthread_create(&t, NULL, lose, NULL);
    pthread_join(t, NULL);
    pthread_create(&t, NULL, keep, NULL);
    pthread_join(t, &kept);
    return 0;
}

// flags: -pthread
/* The first thread leaves with pthread_exit; the process ends with the last. */
#include <pthread.h>
#include <stdio.h>
static pthread_t first;
static void *late(void *p) {
    pthread_join(first, 0); /* not a time: on a busy machine that passes before the first has said what it says */
    puts((char *)p);
    return 0;
}
int main(void) {
    pthread_t t;
    first = pthread_self();
    pthread_create(&t, 0, late, "late");
    pthread_detach(t);
    puts("first thread leaves");
    fflush(stdout);
    pthread_exit(0);
}

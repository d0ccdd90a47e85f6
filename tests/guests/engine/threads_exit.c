// flags: -pthread
/* The first thread leaves with pthread_exit; the process ends with the last. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *late(void *p) {
    usleep(20000);
    puts((char *)p);
    return 0;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, late, "late");
    pthread_detach(t);
    puts("first thread leaves");
    fflush(stdout);
    pthread_exit(0);
}

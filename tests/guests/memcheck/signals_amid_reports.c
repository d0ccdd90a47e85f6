/* Bad reads while another thread sends signals: one that comes while a read is reported, and before the read itself,
 * does not make two errors of it.  @build: -pthread */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define READS 40
static sigjmp_buf back;
static volatile int caught;
static atomic_int done;
static pthread_t reader;

static void on_segv(int sig) {
    caught++;
    siglongjmp(back, 1);
}

static void on_usr1(int sig) {}

static void *sends(void *arg) {
    while (!done)
        pthread_kill(reader, SIGUSR1);
    return NULL;
}

int main(void) {
    pthread_t t;
    volatile int *p = NULL, *freed = malloc(16);
    volatile char *bytes = malloc(16);
    char copy[32];
    int sum = 0;
    reader = pthread_self();
    signal(SIGSEGV, on_segv);
    signal(SIGUSR1, on_usr1);
    free((void *)freed);
    pthread_create(&t, NULL, sends, NULL);
    while (caught < READS) /* what faults */
        if (sigsetjmp(back, 1) == 0)
            caught += *p;
    for (int i = 0; i < READS; i++) /* and what does not, again and again with the same registers */
        sum += *freed;
    for (int i = 0; i < READS; i++)
        bytes[16] = 1;
    done = 1;
    pthread_join(t, NULL);
    free((void *)bytes);
    return caught != READS;
}

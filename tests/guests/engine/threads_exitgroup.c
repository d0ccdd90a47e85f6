// flags: -pthread
// exit: 9
/* exit() in a thread while others run and wait. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *spin(void *p) { (void)p; for (volatile long i = 0;; i++) {} }
static void *wait(void *p) { (void)p; for (;;) pause(); }
static void *leave(void *p) { (void)p; usleep(10000); puts("leaving"); exit(9); }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, spin, 0);
    pthread_create(&t, 0, wait, 0);
    pthread_create(&t, 0, leave, 0);
    pthread_join(t, 0);
    return 1;
}

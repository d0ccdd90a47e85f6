/* A fault in one thread ends all of them, with that signal. */
// signal: SIGSEGV
// errors: yes
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *spins(void *arg) {
    for (volatile long i = 0;; i++) {}
}
static void *waits(void *arg) {
    for (;;) pause();
}
static void *faults(void *arg) {
    usleep(20000);
    *(volatile int *)24 = 1;
    return arg;
}
int main(void) {
    pthread_t t;
    puts("before");
    fflush(stdout);
    for (int i = 0; i < 6; i++) pthread_create(&t, NULL, i == 3 ? faults : i & 1 ? waits : spins, NULL);
    pthread_join(t, NULL);
    puts("never");
}

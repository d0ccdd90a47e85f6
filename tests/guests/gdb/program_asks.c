#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <valgrind/valgrind.h>
volatile int over; int got;
void on(int n) { got++; }
void hit(int n) {}
void *ask(void *a) { while (!over) { VALGRIND_MONITOR_COMMAND("v.info n_errs_found"); usleep(100);} return 0; }
int main(void) {
    pthread_t t;
    signal(SIGUSR1, on);
    pthread_create(&t, 0, ask, 0);
    for (int i = 0; i < 100; i++) { raise(SIGUSR1); hit(i); usleep(300); }
    over = 1;
    pthread_join(t, 0);
    return got;
}

// What threads do to each other by system calls, in order; a fork by a thread that is not the first one.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int before, during, after, in_child;

__attribute__((noinline)) void child(void) { in_child = 1; }

void *work(void *unused) {
    during = 1;
    if (fork() == 0) {
        child();
        _exit(0);
    }
    wait(0);
    return 0;
}

int main(void) {
    before = 1;
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    after = 1;
    return 0;
}

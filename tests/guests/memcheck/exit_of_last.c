/* A process that ends with its last thread, by the thread's own system call: libraries release what they keep there,
 * too, so a thread's table of local storage, kept for the next one, is no leak.
 * @build: -pthread
 * @options: --leak-check=full */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_t first;

static void *run(void *p) { return p; }

static void thread(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
}

static void *longer(void *p) {
    pthread_join(first, 0);
    syscall(SYS_exit, 4);
    return p;
}

int main(void) {
    pthread_t t;
    first = pthread_self();
    thread();
    if (!fork())
        syscall(SYS_exit, 3);
    wait(0);
    pthread_create(&t, 0, longer, 0);
    syscall(SYS_exit, 5);
    return 0;
}

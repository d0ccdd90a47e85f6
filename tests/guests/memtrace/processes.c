/* Threads that meet a signal, a fork whose child meets one and executes, a child of vfork. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int met, count;

static void handler(int sig) { met++; }

static void *work(void *unused) {
    for (int i = 0; i < 5000; i++) __atomic_fetch_add(&count, 1, 0);
    char *m = malloc(100);
    memset(m, 1, 100);
    free(m);
    raise(SIGUSR1);
    return 0;
}

int main(void) {
    pthread_t threads[3];
    int status;
    signal(SIGUSR1, handler);
    for (int i = 0; i < 3; i++) pthread_create(threads + i, 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    if (fork() == 0) {
        raise(SIGUSR1);
        execl("/bin/echo", "echo", "executed", (char *)0);
    }
    wait(0);
    if (vfork() == 0) _exit(3);
    wait(&status);
    printf("%d %d\n", WEXITSTATUS(status), count);
    return 0;
}

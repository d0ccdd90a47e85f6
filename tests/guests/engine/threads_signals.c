// flags: -pthread
/* Directed signals, masks of each thread, faults in several threads at once, fork from one of many. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static __thread sigjmp_buf back;
static __thread int seen;
static atomic_int total, faults, go, done;
static void on(int s) { (void)s; seen++; atomic_fetch_add(&total, 1); }
static void segv(int s) { (void)s; siglongjmp(back, 1); }
static void *run(void *p) {
    (void)p;
    while (!atomic_load(&go)) {}
    for (int i = 0; i < 300; i++) {
        if (!sigsetjmp(back, 1)) *(volatile int *)(uintptr_t)(8 + i) = 1;
        else atomic_fetch_add(&faults, 1);
    }
    while (seen < 50) usleep(100);
    atomic_fetch_add(&done, 1);
    return 0;
}
int main(void) {
    struct sigaction sa = {.sa_handler = on};
    sigaction(SIGUSR1, &sa, 0);
    sa.sa_handler = segv;
    sigaction(SIGSEGV, &sa, 0);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, run, 0);
    atomic_store(&go, 1);
    for (int k = 0; k < 400 || atomic_load(&done) < 4; k++) { /* signals that wait become one */
        for (int i = 0; i < 4; i++) pthread_kill(t[i], SIGUSR1);
        usleep(200);
    }
    int st;
    pid_t c = fork();
    if (!c) _exit(atomic_load(&go) + 4);
    waitpid(c, &st, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    printf("faults %d, enough signals %d, child %d\n", faults, total >= 200, WEXITSTATUS(st));
    return 0;
}

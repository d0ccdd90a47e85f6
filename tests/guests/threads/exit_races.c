/* Threads that end, begin and call exit while another one ends the process. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *nothing(void *arg) { return arg; }
/* Detached from the start: pthread_detach may read the descriptor of a thread that has just ended and given it back
 * (glibc's own race, which memcheck reports). */
static void *makes(void *arg) {
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_t t;
        pthread_create(&t, &detached, nothing, NULL);
    }
    return arg;
}
static void *ends(void *arg) {
    usleep((long)arg);
    syscall(SYS_exit_group, 7);
    return NULL;
}
static void *returns(void *arg) {
    usleep((long)arg);
    return NULL;
}
/* The status is that of the thread that ends last: this one, so it waits until the first one has ended. */
static void *ends_last(void *arg) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    for (;;) {
        FILE *f = fopen(path, "r");
        char *name = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
        if (f) fclose(f);
        if (!name || name[2] == 'Z') return arg;
        usleep(1000);
    }
}
static int run(int how) {
    pthread_t t;
    switch (how) {
    case 0:
        for (int i = 0; i < 20; i++) pthread_create(&t, NULL, i & 1 ? returns : ends, (void *)(long)(i * 100));
        pthread_exit(NULL);
    case 1:
        for (int i = 0; i < 3; i++) pthread_create(&t, NULL, makes, NULL);
        usleep(3000);
        _exit(7);
    case 2:
        for (int i = 0; i < 10; i++) pthread_create(&t, NULL, ends, (void *)0L);
        return 7;
    case 3:
        for (int i = 0; i < 10; i++) pthread_create(&t, NULL, returns, (void *)(long)(i * 50));
        usleep(200);
        return 7;
    default:
        pthread_create(&t, NULL, ends_last, NULL);
        syscall(SYS_exit, 9);
    }
    return 1;
}
int main(void) {
    for (int how = 0; how < 5; how++)
        for (int n = 0; n < 5; n++) {
            int st;
            pid_t p = fork();
            if (p == 0) _exit(run(how));
            waitpid(p, &st, 0);
            if (n == 0) printf("case %d: %s %d\n", how, WIFEXITED(st) ? "exit" : "signal", WIFEXITED(st) ? WEXITSTATUS(st) : WTERMSIG(st));
        }
    return 0;
}

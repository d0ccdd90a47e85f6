/* Threads, fork, vfork, posix_spawn, exec: what a program sees of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static __thread long mine = 5;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static volatile int caught;
static volatile long stop;

static void on_usr1(int sig) {
    (void)sig;
    caught++;
}
static void *add(void *a) {
    mine += (long)a;
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&mutex);
        sum += mine;
        pthread_mutex_unlock(&mutex);
    }
    return (void *)mine;
}
static void *spin(void *a) {
    while (!stop);
    return a;
}
static void *sleep_on(void *a) {
    for (;;) pause();
    return a;
}
static void *same(void *a) { return a; }

static long run(void *(*fn)(void *), long arg) {
    pthread_t t;
    void *r = NULL;
    if (pthread_create(&t, NULL, fn, (void *)arg) != 0) return -1;
    pthread_join(t, &r);
    return (long)r;
}

static void threads(void) {
    pthread_t t[8];
    void *r;
    long all = 0, wrong = 0;
    for (long i = 0; i < 8; i++) pthread_create(&t[i], NULL, add, (void *)i);
    for (int i = 0; i < 8; i++) {
        pthread_join(t[i], &r);
        all += (long)r;
    }
    for (long i = 0; i < 200; i++) wrong += run(same, i) != i;
    printf("sum %ld, results %ld, wrong %ld\n", sum, all, wrong);
    signal(SIGUSR1, on_usr1);
    pthread_create(&t[0], NULL, spin, (void *)7);
    for (int i = 0; i < 100; i++) {
        int before = caught;
        pthread_kill(t[0], SIGUSR1);
        while (caught == before) sched_yield();
    }
    stop = 1;
    pthread_join(t[0], &r);
    printf("spinning thread %ld, signals %d\n", (long)r, caught);
    pthread_create(&t[0], NULL, sleep_on, NULL);
    usleep(10000);
    pthread_cancel(t[0]);
    pthread_join(t[0], &r);
    printf("cancelled %d\n", r == PTHREAD_CANCELED);
}

static void report(const char *what, pid_t pid) {
    int st = 0;
    if (waitpid(pid, &st, 0) != pid)
        printf("%s: %s\n", what, strerrorname_np(errno));
    else if (WIFSIGNALED(st))
        printf("%s: signal %d\n", what, WTERMSIG(st));
    else
        printf("%s: exit %d\n", what, WEXITSTATUS(st));
}

int main(int argc, char **argv) {
    char *kill_itself[] = {"sh", "-c", "kill -TERM $$", NULL};
    posix_spawnattr_t attr;
    sigset_t every;
    pid_t p;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1) {
        printf("executed with %s\n", argv[1]);
        return 21;
    }
    threads();
    if ((p = fork()) == 0) _exit(40 + (int)run(same, 3));
    report("fork with a thread", p);
    if ((p = fork()) == 0) {
        int st;
        if ((p = fork()) == 0) _exit(9);
        waitpid(p, &st, 0);
        _exit(WEXITSTATUS(st) + 1);
    }
    report("fork in a fork", p);
    if ((p = fork()) == 0) *(volatile int *)8 = 0;
    report("fault in a fork", p);
    if ((p = vfork()) == 0) _exit(12);
    report("vfork", p);
    for (int i = 0; i < 3; i++) {
        if ((p = vfork()) == 0) {
            execl("/proc/self/exe", "again", "vfork", NULL);
            _exit(1);
        }
        report("exec of itself after vfork", p);
    }
    posix_spawnattr_init(&attr);
    sigfillset(&every);
    posix_spawnattr_setsigdefault(&attr, &every);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    if (posix_spawn(&p, "/bin/sh", NULL, &attr, kill_itself, environ) == 0) report("spawn", p);
    printf("own handler kept %d\n", signal(SIGUSR1, on_usr1) == on_usr1);
    printf("spawn of nothing: %s\n", strerrorname_np(posix_spawnp(&p, "no-such-program", NULL, NULL, argv, environ)));
    execl("/nonexistent", "x", NULL);
    printf("exec of nothing: %s\n", strerrorname_np(errno));
    printf("system: %d\n", system("exit 3") >> 8);
    fflush(stdout);
    stop = 0;
    pthread_t t;
    pthread_create(&t, NULL, spin, NULL); /* exec ends it */
    execl("/proc/self/exe", "again", "exec", NULL);
    return 1;
}

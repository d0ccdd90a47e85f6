/* Forks while another thread closes, takes and copies to numbers that are free; the number of a child's pidfd. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ABOVE 12
static volatile int done;
static int null;
static long wrong;

static void *copies(void *arg) {
    while (!done) {
        for (int k = null + 1; k < null + ABOVE; k++) wrong += dup2(null, k) != k;
        for (int k = null + 1; k < null + ABOVE; k++) wrong += close(k) != 0;
    }
    return arg;
}
static void *closes(void *arg) {
    while (!done)
        for (int k = null + 1; k < null + ABOVE; k++) wrong += close(k) == 0;
    return arg;
}
static void *ranges(void *arg) {
    while (!done) syscall(SYS_close_range, null + 1, ~0u, 0);
    return arg;
}

int main(void) {
    static const struct {
        const char *name;
        void *(*f)(void *);
    } all[] = {{"copies", copies}, {"closes", closes}, {"ranges", ranges}};
    setvbuf(stdout, NULL, _IONBF, 0);
    null = open("/dev/null", O_RDWR);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        int bad = 0, status;
        pthread_t t;
        done = 0, wrong = 0;
        pthread_create(&t, NULL, all[i].f, NULL);
        for (int k = 0; k < 25; k++) {
            pid_t p = fork();
            if (p == 0) _exit(5);
            bad += p < 0 || waitpid(p, &status, 0) != p || status != 5 << 8;
        }
        done = 1;
        pthread_join(t, NULL);
        printf("%s: %d %ld\n", all[i].name, bad, wrong);
    }
    int pidfd = -1, status;
    struct clone_args a = {.flags = CLONE_PIDFD, .pidfd = (unsigned long)&pidfd, .exit_signal = SIGCHLD};
    long p = syscall(SYS_clone3, &a, sizeof a);
    if (p == 0) _exit(6);
    if (p > 0 && waitpid((pid_t)p, &status, 0) == p) printf("pidfd %d, %d\n", pidfd - null, WEXITSTATUS(status));
    return 0;
}

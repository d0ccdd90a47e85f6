/* A signal that ends the process, sent from another thread than the one that the kernel takes for it: nothing runs
 * after it, and nobody waits it away. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMES 12
static pthread_t first;
static sigset_t term;
static int told[2];

/* pthread_create has all signals blocked in the first thread until it returns. */
static void settle(void) { usleep(5000); }
static void survived(void) { (void)!write(told[1], "s", 1); }
static void *kills(void *arg) {
    settle();
    kill(getpid(), SIGTERM);
    survived();
    return arg;
}
static void *kills_group(void *arg) {
    settle();
    setpgid(0, 0);
    kill(0, SIGTERM);
    survived();
    return arg;
}
static void *kills_thread(void *arg) {
    settle();
    pthread_kill(first, SIGTERM);
    survived();
    return arg;
}
static void *waits(void *arg) {
    struct timespec second = {1, 0};
    settle();
    kill(getppid(), SIGUSR1);
    if (sigtimedwait(&term, NULL, &second) > 0) survived();
    return arg;
}
/* Where all block it, it may be waited for. */
static void *waits_blocked(void *arg) {
    struct timespec second = {5, 0};
    kill(getpid(), SIGTERM);
    if (sigtimedwait(&term, NULL, &second) == SIGTERM) _exit(7);
    return arg;
}
/* And what is sent to a thread that blocks it, as a timer's is: the first one does not matter. */
static void *waits_queued(void *arg) {
    siginfo_t info;
    union sigval value = {.sival_int = 1};
    pthread_sigmask(SIG_BLOCK, &term, NULL);
    pthread_sigqueue(pthread_self(), SIGTERM, value);
    if (sigwaitinfo(&term, &info) == SIGTERM && info.si_code == SI_QUEUE) _exit(7);
    return arg;
}

int main(void) {
    static const struct {
        const char *name;
        void *(*f)(void *);
        int sent;
    } all[] = {{"kill", kills, 0}, {"kill of the group", kills_group, 0}, {"pthread_kill", kills_thread, 0},
               {"wait", waits, 1}, {"wait where it is blocked", waits_blocked, 0},
               {"wait for a thread's", waits_queued, 0}};
    sigset_t ready;
    setvbuf(stdout, NULL, _IONBF, 0);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigemptyset(&ready);
    sigaddset(&ready, SIGUSR1);
    sigprocmask(SIG_BLOCK, &ready, NULL);
    if (pipe(told)) return 1;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        int ended = 0, waited = 0, status, sig;
        for (int k = 0; k < TIMES; k++) {
            pid_t p = fork();
            if (p == 0) {
                pthread_t t;
                first = pthread_self();
                if (all[i].f == waits_blocked) sigprocmask(SIG_BLOCK, &term, NULL);
                pthread_create(&t, NULL, all[i].f, NULL);
                pthread_join(t, NULL);
                _exit(0);
            }
            if (all[i].sent) {
                sigwait(&ready, &sig);
                kill(p, SIGTERM);
            }
            waitpid(p, &status, 0);
            ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
            waited += WIFEXITED(status) && WEXITSTATUS(status) == 7;
        }
        printf("%s: %d ended, %d waited\n", all[i].name, ended, waited);
    }
    close(told[1]);
    char s[100];
    printf("survived %ld\n", (long)read(told[0], s, sizeof s));
    return 0;
}

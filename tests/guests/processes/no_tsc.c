// errors: yes
/* prctl(PR_SET_TSC, PR_TSC_SIGSEGV): rdtsc faults, in this thread, its children and what they execute. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int code;
static void on_segv(int sig, siginfo_t *info, void *context) {
    code = info->si_code;
    siglongjmp(back, 1);
}

static const char *faults(int rdtscp) {
    if (sigsetjmp(back, 1)) return code == SI_KERNEL ? "faults" : "faults otherwise";
    unsigned lo, hi, aux;
    if (rdtscp)
        __asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(aux));
    else
        __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return "runs";
}

static int mode(void) {
    int m = -1;
    prctl(PR_GET_TSC, &m);
    return m;
}

static void *thread(void *arg) {
    const char *a = faults(0);
    printf("%s: mode %d, rdtsc %s\n", (char *)arg, mode(), a);
    /* New code: the engine translates it under this mode. */
    char text[64];
    snprintf(text, sizeof text, "%.3f %lld", strtod("2.5e3", NULL), atoll("77"));
    return strcmp(text, "2500.000 77") ? NULL : arg;
}

int main(int argc, char **argv) {
    struct sigaction act = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, NULL);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 1) {
        printf("executed: mode %d, rdtsc %s\n", mode(), faults(0));
        return 7;
    }
    printf("at first: mode %d, rdtsc %s\n", mode(), faults(0));
    printf("set: %d\n", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
    printf("mode %d, rdtsc %s, rdtscp %s\n", mode(), faults(0), faults(1));
    pthread_t t;
    void *r;
    pthread_create(&t, NULL, thread, "thread");
    pthread_join(t, &r);
    printf("%d\n", r != NULL);
    int st;
    pid_t p = fork();
    if (p == 0) _exit(thread("child") ? 5 : 6);
    waitpid(p, &st, 0);
    printf("child's end: %d\n", WEXITSTATUS(st));
    p = fork();
    if (p == 0) {
        execl("/proc/self/exe", "no_tsc", "again", NULL);
        _exit(9);
    }
    waitpid(p, &st, 0);
    printf("its end: %x\n", st);
    printf("again: %d\n", prctl(PR_SET_TSC, PR_TSC_ENABLE));
    printf("mode %d, rdtsc %s\n", mode(), faults(0));
    printf("no such mode: %d\n", prctl(PR_SET_TSC, 3));
    return 0;
}

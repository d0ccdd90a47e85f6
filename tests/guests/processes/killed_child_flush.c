/* A child on this memory was killed amid its code.  Who has all translations dropped afterwards (for the handler of a
 * fault that is the first) waits for no answer of it: no sched_yield, which the test has kill whoever calls it. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int up;
static int word;
static char stack[65536];

static int run(void *arg) {
    up = 1;
    for (;;) {}
    return arg != NULL;
}

static void handler(int sig, siginfo_t *info, void *context) { (void)sig, (void)info, (void)context; }

/* Executes the rest of its words where sched_yield kills. */
static int without_yields(char **words) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = {4, f};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 99;
    execvp(words[0], words);
    return 98;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "without-yields") == 0) return without_yields(argv + 2);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    siginfo_t info;
    /* The kernel clears the program's word, and so none of the runtime's. */
    int flags = CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, status;
    int pid = clone(run, stack + sizeof stack, flags, NULL, NULL, NULL, &word);
    while (!up) {}
    usleep(20000); /* from here on it is in its loop, if only most often: otherwise there is nothing to see */
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    sigaction(SIGSEGV, &action, NULL);
    waitpid(pid, &status, 0);
    action.sa_flags |= SA_RESTART;
    sigaction(SIGTRAP, &action, NULL); /* this one, too, flushes: now the child is no process any more */
    printf("%d\n", WTERMSIG(status));
    return 0;
}

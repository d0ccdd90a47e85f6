/* What a parent learns of its children: statuses, stops, resource use; sessions, groups and users. */
// errors: yes
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, int st) {
    if (WIFEXITED(st))
        printf("%s: exit %d\n", what, WEXITSTATUS(st));
    else if (WIFSIGNALED(st))
        printf("%s: signal %d\n", what, WTERMSIG(st));
    else if (WIFSTOPPED(st))
        printf("%s: stopped %d\n", what, WSTOPSIG(st));
    else
        printf("%s: %s\n", what, WIFCONTINUED(st) ? "continued" : "?");
}
static volatile int chld;
static siginfo_t last;
static void on_chld(int sig, siginfo_t *info, void *context) {
    chld++;
    last = *info;
}

int main(void) {
    int st, sync[2];
    struct rusage ru;
    setvbuf(stdout, NULL, _IONBF, 0);
    pid_t p = fork();
    if (p == 0) {
        char *q = malloc(8 << 20);
        memset(q, 1, 8 << 20);
        for (volatile long i = 0; i < 20000000; i++) {}
        _exit(0x1ff);
    }
    wait4(p, &st, 0, &ru);
    say("status", st);
    printf("time %d memory %d\n", ru.ru_utime.tv_sec * 1000000 + ru.ru_utime.tv_usec > 1000, ru.ru_maxrss >= 8192);
    static const int deaths[] = {SIGHUP, SIGTRAP, SIGABRT, SIGKILL, SIGSEGV, SIGCHLD, SIGSYS, 40};
    for (unsigned i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        int sig = deaths[i];
        p = fork();
        if (p == 0) {
            struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            signal(sig, SIG_DFL);
            kill(getpid(), sig);
            _exit(3);
        }
        waitpid(p, &st, 0);
        say(strsignal(sig), st);
    }
    pipe(sync);
    p = fork();
    if (p == 0) {
        raise(SIGSTOP);
        char c;
        read(sync[0], &c, 1);
        raise(SIGTSTP);
        _exit(4);
    }
    waitpid(p, &st, WUNTRACED);
    say("SIGSTOP", st);
    kill(p, SIGCONT);
    waitpid(p, &st, WCONTINUED | WUNTRACED);
    say("then", st);
    write(sync[1], "g", 1);
    waitpid(p, &st, WUNTRACED);
    say("then", st);
    siginfo_t si;
    memset(&si, 0, sizeof si);
    waitid(P_PID, p, &si, WSTOPPED | WNOHANG | WNOWAIT);
    kill(p, SIGCONT);
    waitid(P_PID, p, &si, WEXITED | WNOWAIT);
    printf("waitid code %d status %d pid %d\n", si.si_code == CLD_EXITED, si.si_status, si.si_pid == p);
    waitpid(p, &st, 0);
    say("reaped", st);
    memset(&si, 0xa5, sizeof si); /* the kernel writes a child's fields, also of a call that fails */
    int bad = waitid(P_PID, p, &si, 0), untouched = 0;
    for (unsigned i = 0; i < sizeof si; i++) untouched += ((unsigned char *)&si)[i] == 0xa5;
    printf("waitid without options: %d, bytes left %d, between the fields %d\n", bad, untouched,
           ((unsigned char *)&si)[12] == 0xa5);
    int left = waitpid(-1, &st, WNOHANG);
    printf("nothing left %d %d\n", left, errno == ECHILD);

    struct sigaction act = {.sa_sigaction = on_chld, .sa_flags = SA_SIGINFO | SA_NOCLDSTOP};
    sigaction(SIGCHLD, &act, NULL);
    sigset_t block, nothing;
    sigemptyset(&nothing);
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, NULL);
    p = fork();
    if (p == 0) _exit(9);
    while (!chld) sigsuspend(&nothing);
    sigprocmask(SIG_UNBLOCK, &block, NULL);
    printf("SIGCHLD code %d status %d pid %d\n", last.si_code == CLD_EXITED, last.si_status, last.si_pid == p);
    waitpid(p, &st, 0);
    act.sa_flags |= SA_NOCLDWAIT;
    sigaction(SIGCHLD, &act, NULL);
    p = fork();
    if (p == 0) _exit(9);
    int none = waitpid(p, &st, 0);
    printf("no zombie: %d %d\n", none, errno == ECHILD);
    signal(SIGCHLD, SIG_DFL);

    pipe(sync);
    p = fork();
    if (p == 0) {
        printf("setpgid %d setsid %d", setpgid(0, 0), setsid() < 0 ? errno : 0);
        pid_t q = fork();
        if (q == 0) {
            printf(" in the child %d", setsid() == getpid());
            printf(" %d %d\n", getpgrp() == getpid(), getsid(0) == getpid());
            _exit(0);
        }
        waitpid(q, &st, 0);
        _exit(5);
    }
    waitpid(p, &st, 0);
    say("groups", st);
    p = fork();
    if (p == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        pid_t q = fork();
        int sig = 0;
        prctl(PR_GET_PDEATHSIG, &sig);
        if (q == 0) {
            prctl(PR_SET_PDEATHSIG, SIGUSR1);
            sigset_t s;
            sigemptyset(&s);
            sigaddset(&s, SIGUSR1);
            sigprocmask(SIG_BLOCK, &s, NULL);
            write(sync[1], "r", 1);
            int got;
            sigwait(&s, &got);
            write(sync[1], "D", 1);
            _exit(0);
        }
        char c;
        read(sync[0], &c, 1);
        _exit(sig);
    }
    waitpid(p, &st, 0);
    say("parent", st);
    char c = '?';
    read(sync[0], &c, 1);
    printf("its child heard: %c\n", c);
    if (geteuid() == 0) {
        p = fork();
        if (p == 0) {
            gid_t groups[2] = {5000, 5001};
            printf("setgroups %d", setgroups(2, groups));
            printf(" setgid %d setuid %d\n", setresgid(4001, 4002, 4003), setresuid(4001, 4002, 4001));
            uid_t r, e, s;
            getresuid(&r, &e, &s);
            printf("uids %d %d %d; back to root %d; dumpable %d\n", r, e, s, setuid(0) ? errno : 0, prctl(PR_GET_DUMPABLE));
            pid_t q = fork();
            if (q == 0) {
                free(malloc(2 << 20));
                _exit(getuid() == 4001 ? 6 : 7);
            }
            waitpid(q, &st, 0);
            say("child of the user", st);
            q = vfork();
            if (q == 0) {
                execl("/bin/sh", "sh", "-c", "exit 11", NULL);
                _exit(1);
            }
            waitpid(q, &st, 0);
            say("exec of the user", st);
            seteuid(4001);
            printf("eaccess %d\n", open("/etc/shadow", O_RDONLY) < 0 ? errno : 0);
            _exit(8);
        }
        waitpid(p, &st, 0);
        say("user", st);
    }
    return 0;
}

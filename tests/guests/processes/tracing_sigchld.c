/* SIGCHLD comes once for each stop that a tracer is to see, and says which. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

static volatile int n, code, status;
static volatile pid_t pid;
static void on_child(int sig, siginfo_t *i, void *u) {
    n++;
    code = i->si_code, status = i->si_status, pid = i->si_pid;
}

int main(void) {
    struct sigaction act = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO};
    sigset_t block, before;
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGCHLD, &act, NULL);
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, &before);
    pid_t p = fork();
    if (p == 0) {
        signal(SIGCHLD, SIG_DFL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        for (int i = 0; i < 5; i++) {
            char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            page[0] = 0xc3; /* ret */
            ((void (*)(void))page)();
            raise(SIGUSR1);
            page[0] = 0x90, page[1] = 0xc3;
            ((void (*)(void))page)();
            __asm__ volatile("int3");
        }
        _exit(3);
    }
    int st = 0, stops = 0, last = 0;
    for (;;) {
        sigsuspend(&before);
        if (n == last) continue;
        printf("signal %d code %d status %d pid %d\n", n - last, code, status, pid == p);
        last = n;
        if (waitpid(p, &st, WNOHANG) != p || !WIFSTOPPED(st)) break;
        stops++;
        printf("stop %d\n", WSTOPSIG(st));
        ptrace(PTRACE_CONT, p, 0, 0);
    }
    printf("end %d stops %d signals %d\n", WEXITSTATUS(st), stops, n);

    /* Taken instead of handled. */
    p = fork();
    if (p == 0) {
        signal(SIGCHLD, SIG_DFL);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        for (int i = 0; i < 3; i++) raise(SIGUSR1);
        _exit(5);
    }
    for (;;) {
        siginfo_t i;
        int sig = sigwaitinfo(&block, &i);
        printf("taken %d code %d status %d: ", sig, i.si_code, i.si_status);
        pid_t w = waitpid(p, &st, WNOHANG);
        printf("%d %x\n", w == p, st);
        if (w != p || !WIFSTOPPED(st)) break;
        ptrace(PTRACE_CONT, p, 0, 0);
    }

    /* While the tracer does something else, its tracee goes on from what is none of its business. */
    sigprocmask(SIG_SETMASK, &before, NULL);
    int ends[2];
    pipe(ends);
    p = fork();
    if (p == 0) {
        signal(SIGCHLD, SIG_DFL);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        for (int i = 0; i < 5; i++) {
            char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            page[0] = 0xc3;
            ((void (*)(void))page)();
            page[0] = 0x90, page[1] = 0xc3;
            ((void (*)(void))page)();
            write(ends[1], "x", 1);
        }
        _exit(4);
    }
    waitpid(p, &st, 0);
    ptrace(PTRACE_CONT, p, 0, 0);
    char c;
    for (int i = 0; i < 5; i++)
        while (read(ends[0], &c, 1) != 1) {}
    while (waitpid(p, &st, 0) != p) {}
    printf("end %d\n", WEXITSTATUS(st));
    return 0;
}

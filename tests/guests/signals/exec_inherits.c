/* What an exec passes on: masks, ignored signals, pending signals; handlers and alternate stacks do not survive. */
#define _GNU_SOURCE
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void handler(int sig) { (void)sig; }
static void show(const char *who) {
    unsigned long mask = 0, pending = 0, ignored = 0, caught = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8);
    syscall(SYS_rt_sigpending, &pending, 8);
    for (int s = 1; s < 65; s++) {
        struct { void *handler; unsigned long flags, restorer, mask; } a = {0};
        if (syscall(SYS_rt_sigaction, s, 0, &a, 8)) continue;
        if (a.handler == (void *)1) ignored |= 1ul << (s - 1);
        else if (a.handler) caught |= 1ul << (s - 1);
    }
    stack_t ss;
    sigaltstack(0, &ss);
    printf("%s: mask %lx pending %lx ignored %lx caught %lx altstack %x\n", who, mask, pending, ignored, caught, ss.ss_flags);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        show(argv[1]);
        return 0;
    }
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigaddset(&s, SIGSEGV);
    sigaddset(&s, SIGTRAP);
    sigaddset(&s, 40);
    sigprocmask(SIG_SETMASK, &s, 0);
    signal(SIGHUP, SIG_IGN);
    signal(SIGILL, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGUSR2, handler);
    signal(SIGBUS, handler);
    static char stack_at[32768];
    stack_t ss = {.ss_sp = stack_at, .ss_size = sizeof stack_at};
    sigaltstack(&ss, 0);
    show("first");
    int status;
    pid_t pid;
    if ((pid = fork()) == 0) {
        raise(SIGUSR1);
        raise(SIGSEGV);
        raise(40);
        show("child");
        execl(argv[0], argv[0], "after exec", NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    printf("status %x\n", status);
    if ((pid = fork()) == 0) {
        show("pending is not inherited by fork");
        _exit(0);
    }
    waitpid(pid, &status, 0);
    posix_spawnattr_t attr;
    posix_spawnattr_init(&attr);
    sigset_t d, m;
    sigemptyset(&m);
    sigaddset(&m, SIGFPE);
    sigemptyset(&d);
    sigaddset(&d, SIGHUP);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attr, &m);
    posix_spawnattr_setsigdefault(&attr, &d);
    char *args[] = {argv[0], "spawned", NULL};
    posix_spawn(&pid, argv[0], NULL, &attr, args, environ);
    waitpid(pid, &status, 0);
    printf("status %x\n", status);
    if ((pid = vfork()) == 0) {
        signal(SIGTERM, SIG_IGN);
        execl(argv[0], argv[0], "after vfork", NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    printf("status %x\n", status);
    show("first, at the end");
    return 0;
}

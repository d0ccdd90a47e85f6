// errors: yes
/* clone and clone3 with each flag that makes a process, and waiting for what they made. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#define SIZE (256 << 10)

static volatile int shared;
static int status_of(pid_t pid, int options) {
    int st = -1;
    pid_t got = waitpid(pid, &st, options);
    if (got != pid) return got < 0 ? -errno : -1000;
    return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

static char *new_stack(void) {
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p + SIZE;
}

static int opens(void *arg) {
    shared = open("/dev/null", O_RDONLY);
    return shared == *(int *)arg ? 11 : 12;
}
static int changes_folder(void *arg) {
    (void)arg;
    return chdir("/") ? 1 : 13;
}
static int adds(void *arg) {
    shared += 5;
    return *(int *)arg;
}
static int parent_is(void *arg) { return getppid() == *(int *)arg ? 14 : 15; }
static int mallocs(void *arg) {
    for (int i = 0; i < 2000; i++) {
        char *p = malloc(i * 7 + 1);
        memset(p, i, i * 7 + 1);
        free(p);
    }
    char text[100];
    snprintf(text, sizeof text, "%d", getpid() != *(int *)arg);
    return text[0] == '1' ? 16 : 17;
}
static void handler(int sig) { shared = sig; }
static int raises(void *arg) {
    struct sigaction act;
    sigaction(SIGUSR1, NULL, &act);
    if (*(int *)arg) return act.sa_handler == SIG_DFL ? 18 : 19;
    raise(SIGUSR1);
    return shared == SIGUSR1 ? 20 : 21;
}
static int execs(void *arg) {
    execl("/bin/sh", "sh", "-c", "exit 22", NULL);
    return 1;
}
static int sleeps(void *arg) {
    usleep(20000);
    shared = 77;
    return 23;
}
static int dies(void *arg) {
    raise(SIGTERM);
    return 1;
}
static int faults(void *arg) {
    *(volatile int *)8 = 1;
    return 1;
}

/* In line: a child on the same stack must not return from a function. */
#define clone3_call(a)                                                                                                 \
    ({                                                                                                                 \
        long r_;                                                                                                       \
        __asm__ volatile("syscall" : "=a"(r_) : "0"(SYS_clone3), "D"(a), "S"(sizeof *(a)) : "rcx", "r11", "memory");  \
        if (r_ < 0) errno = (int)-r_, r_ = -1;                                                                         \
        r_;                                                                                                            \
    })

int main(void) {
    int self = getpid(), zero = 0, one = 1, st, next;
    setvbuf(stdout, NULL, _IONBF, 0);
    char *stack = new_stack();
    next = open("/dev/null", O_RDONLY);
    close(next);

    /* What is shared, with memory of its own. */
    shared = 0;
    pid_t p = clone(opens, stack, CLONE_FILES | SIGCHLD, &next);
    printf("files without vm: %d", status_of(p, 0));
    printf(" open here %d\n", fcntl(next, F_GETFD) >= 0);
    close(next);
    char folder[4096];
    getcwd(folder, sizeof folder);
    p = clone(changes_folder, stack, CLONE_FS | SIGCHLD, NULL);
    printf("fs without vm: %d", status_of(p, 0));
    char now[4096];
    printf(" here %s\n", getcwd(now, sizeof now));
    chdir(folder);
    p = clone(execs, stack, CLONE_VFORK | SIGCHLD, NULL);
    printf("vfork without vm: %d\n", status_of(p, 0));

    /* Memory shared, a process of its own. */
    shared = 1;
    p = clone(adds, stack, CLONE_VM | SIGCHLD, &one);
    printf("vm: %d", status_of(p, 0));
    printf(" shared %d\n", shared);
    p = clone(mallocs, stack, CLONE_VM | SIGCHLD, &self);
    printf("vm mallocs: %d\n", status_of(p, 0));
    p = clone(sleeps, stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    printf("vm vfork: shared %d", shared);
    printf(" %d\n", status_of(p, 0));
    p = clone(execs, stack, CLONE_VM | SIGCHLD, NULL);
    printf("vm execs: %d\n", status_of(p, 0));
    p = clone(dies, stack, CLONE_VM | SIGCHLD, NULL);
    printf("vm dies: %d\n", status_of(p, 0));
    p = clone(faults, stack, CLONE_VM | SIGCHLD, NULL);
    printf("vm faults: %d\n", status_of(p, 0));
    p = clone(opens, stack, CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, &next);
    printf("vm files: %d", status_of(p, 0));
    printf(" open here %d\n", fcntl(next, F_GETFD) >= 0);
    close(next);
    signal(SIGUSR1, handler);
    p = clone(raises, stack, CLONE_VM | SIGCHLD, &zero);
    printf("vm handlers: %d\n", status_of(p, 0));
    shared = 0;
    p = clone(raises, stack, CLONE_VM | CLONE_SIGHAND | SIGCHLD, &zero);
    printf("vm sighand: %d\n", status_of(p, 0));

    /* The parent of the child is that of the caller. */
    int pair[2];
    pipe(pair);
    p = fork();
    if (p == 0) {
        pid_t q = clone(parent_is, new_stack(), CLONE_PARENT | SIGCHLD, &self);
        write(pair[1], &q, sizeof q);
        _exit(status_of(q, 0) == -ECHILD ? 24 : 25);
    }
    printf("clone parent: %d", status_of(p, 0));
    pid_t sibling = 0;
    read(pair[0], &sibling, sizeof sibling);
    printf(" sibling %d\n", status_of(sibling, 0));
    p = fork();
    if (p == 0) {
        pid_t q = clone(parent_is, new_stack(), CLONE_PARENT | CLONE_VM | SIGCHLD, &self);
        write(pair[1], &q, sizeof q);
        _exit(status_of(q, 0) == -ECHILD ? 24 : 25);
    }
    read(pair[0], &sibling, sizeof sibling);
    printf("clone parent vm: sibling %d\n", status_of(sibling, 0));
    printf("its maker %d\n", status_of(p, 0));

    /* Thread ids left in memory. */
    int *ids = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p = (pid_t)syscall(SYS_clone, CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD, 0, &ids[0], &ids[1], 0);
    if (p == 0) _exit(ids[1] == getpid() ? 26 : 27);
    st = status_of(p, 0);
    printf("settid: %d parent's %d child's %d\n", st, ids[0] == p, ids[1] == p);
    ids[2] = 5;
    p = (pid_t)syscall(SYS_clone, CLONE_CHILD_CLEARTID | SIGCHLD, 0, 0, &ids[2], 0);
    if (p == 0) _exit(28);
    printf("cleartid alone: %d", status_of(p, 0));
    printf(" %d\n", ids[2]);
    ids[3] = 5;
    p = clone(adds, stack, CLONE_VM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID | SIGCHLD, &one, &ids[4], NULL, &ids[3]);
    printf("cleartid: %d", status_of(p, 0));
    printf(" %d %d\n", ids[3], ids[4] == p);

    /* Signals at the end: none, and another one; __WCLONE and __WALL. */
    p = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (p == 0) _exit(29);
    printf("no signal: plain wait %d", status_of(p, 0));
    printf(" __WCLONE %d\n", status_of(p, __WCLONE));
    signal(SIGUSR2, handler);
    shared = 0;
    p = (pid_t)syscall(SYS_clone, SIGUSR2, 0, 0, 0, 0);
    if (p == 0) _exit(30);
    printf("SIGUSR2: __WALL %d", status_of(p, __WALL));
    printf(" signal %d\n", shared == SIGUSR2);
    shared = 0;
    p = clone(adds, stack, CLONE_VM | SIGUSR2, &one);
    st = status_of(p, __WALL);
    printf("vm SIGUSR2: %d signal %d\n", st, shared == SIGUSR2 || shared == SIGUSR2 + 5);

    /* clone3. */
    int pidfd = -1;
    struct clone_args a = {.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD};
    p = (pid_t)clone3_call(&a);
    if (p == 0) {
        struct sigaction act;
        sigaction(SIGUSR1, NULL, &act);
        _exit(act.sa_handler == SIG_DFL ? 31 : 32);
    }
    struct pollfd pfd = {pidfd, POLLIN, 0};
    int polled = poll(&pfd, 1, 10000);
    siginfo_t info = {0};
    int waited = waitid(P_PIDFD, pidfd, &info, WEXITED);
    printf("pidfd: poll %d waitid %d status %d cloexec %d\n", polled, waited, info.si_status, fcntl(pidfd, F_GETFD));
    close(pidfd);
    pidfd = -1;
    p = (pid_t)syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &pidfd, 0, 0);
    if (p == 0) _exit(33);
    printf("clone pidfd: %d", pidfd >= 0);
    printf(" %d\n", status_of(p, 0));
    close(pidfd);
    a = (struct clone_args){.flags = CLONE_VM | CLONE_CLEAR_SIGHAND | CLONE_VFORK, .exit_signal = SIGCHLD};
    p = (pid_t)clone3_call(&a);
    if (p == 0) _exit(raises(&one));
    printf("vm clear sighand: %d", status_of(p, 0));
    struct sigaction kept;
    sigaction(SIGUSR1, NULL, &kept);
    printf(" here %d\n", kept.sa_handler == handler);
    a = (struct clone_args){.flags = CLONE_SIGHAND | CLONE_CLEAR_SIGHAND | CLONE_VM, .exit_signal = SIGCHLD};
    printf("sighand and clear: %ld\n", clone3_call(&a) < 0 ? (long)-errno : 0L);
    a = (struct clone_args){.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = 9999};
    printf("bad cgroup: %ld\n", clone3_call(&a) < 0 ? (long)-errno : 0L);
    a = (struct clone_args){.flags = CLONE_PARENT, .exit_signal = SIGCHLD};
    printf("parent with signal: %ld\n", clone3_call(&a) < 0 ? (long)-errno : 0L);
    a = (struct clone_args){.exit_signal = 65};
    printf("bad signal: %ld\n", clone3_call(&a) < 0 ? (long)-errno : 0L);
    printf("small: %ld\n", syscall(SYS_clone3, &a, 8) < 0 ? (long)-errno : 0L);
    pid_t want[2] = {0, 0};
    a = (struct clone_args){.exit_signal = SIGCHLD, .set_tid = (uintptr_t)want, .set_tid_size = 1};
    printf("set_tid 0: %ld\n", clone3_call(&a) < 0 ? (long)-errno : 0L);
    a.set_tid_size = 40;
    printf("set_tid size: %ld\n", clone3_call(&a) < 0 ? (long)-errno : 0L);
    printf("thread without vm: %ld\n", syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0) < 0 ? (long)-errno : 0L);
    printf("thread without sighand: %ld\n", syscall(SYS_clone, CLONE_THREAD | CLONE_VM, stack, 0, 0, 0) < 0 ? (long)-errno : 0L);
    printf("sighand without vm: %ld\n", syscall(SYS_clone, CLONE_SIGHAND | SIGCHLD, 0, 0, 0, 0) < 0 ? (long)-errno : 0L);
    printf("fs and newns: %ld\n", syscall(SYS_clone, CLONE_FS | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0) < 0 ? (long)-errno : 0L);

    /* TLS of a process without shared memory. */
    unsigned long *tls = calloc(1, 4096);
    unsigned long base;
    syscall(SYS_arch_prctl, 0x1003, &base);
    memcpy(tls, (void *)base, 2048); /* a thread control block that points to the old one serves _exit */
    p = (pid_t)syscall(SYS_clone, CLONE_SETTLS | SIGCHLD, 0, 0, 0, tls);
    if (p == 0) {
        unsigned long mine;
        __asm__ volatile("syscall" : "=a"(mine) : "0"(158), "D"(0x1003), "S"(&base) : "rcx", "r11", "memory");
        __asm__ volatile("syscall" ::"a"(60), "D"(base == (unsigned long)tls ? 34 : 35));
    }
    printf("settls: %d\n", status_of(p, 0));
    printf("nobody is left: %d %d\n", waitpid(-1, &st, __WALL) < 0 ? errno : 0, ECHILD);
    return 0;
}

/* The first process of a PID namespace: signals without a handler do not come, its own faults end it. */
// skip-status: 77
// errors: yes
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int status_of(pid_t pid) {
    int st = -1;
    if (waitpid(pid, &st, 0) != pid) return -errno;
    return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

static int ready[2], go[2];

static void sent(void) {
    const int all[] = {SIGTERM, SIGINT, SIGSEGV, SIGBUS, SIGTRAP, SIGUSR1, SIGABRT, SIGTSTP, SIGRTMIN};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) raise(all[i]);
    printf("raised\n");
}
static void blocked(void) {
    sigset_t s, pending;
    sigemptyset(&s);
    sigaddset(&s, SIGINT);
    sigaddset(&s, SIGSEGV);
    sigprocmask(SIG_BLOCK, &s, NULL);
    raise(SIGINT);
    raise(SIGSEGV);
    sigpending(&pending);
    printf("pending %d %d\n", sigismember(&pending, SIGINT), sigismember(&pending, SIGSEGV));
    sigprocmask(SIG_UNBLOCK, &s, NULL);
    sigpending(&pending);
    printf("pending %d %d\n", sigismember(&pending, SIGINT), sigismember(&pending, SIGSEGV));
}
/* Sent while it reads: the read goes on. */
static void reads(void) {
    char c = 0;
    (void)!write(ready[1], "r", 1);
    long n = read(go[0], &c, 1);
    printf("read %ld %c %d\n", n, c, n < 0 ? errno : 0);
}
static void handler(int sig) { printf("handler %d\n", sig); }
static void once(void) {
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESETHAND};
    sigaction(SIGTERM, &a, NULL);
    raise(SIGTERM);
    raise(SIGTERM);
    printf("once\n");
}
static void child(void) {
    pid_t p = fork();
    if (p == 0) {
        raise(SIGTERM);
        _exit(9);
    }
    printf("its child %d\n", status_of(p));
}
static void segv(void) { *(volatile int *)0 = 1; }
static void ends(void) { abort(); }
static void ill(void) { __asm__ volatile("ud2"); }
static void trap(void) { __asm__ volatile("int3"); }
static void fpe(void) { __asm__ volatile("xor %%ecx, %%ecx; div %%ecx" ::: "rax", "rcx", "rdx"); }
static void bus(void) { __asm__ volatile("push %%rbp; mov %0, %%rbp; mov 0(%%rbp), %%rax" ::"r"(1ul << 62) : "rax"); }

int main(void) {
    static const struct {
        const char *name;
        void (*f)(void);
    } all[] = {{"sent", sent}, {"blocked", blocked}, {"reads", reads}, {"once", once}, {"child", child}, {"segv", segv},
               {"abort", ends}, {"ill", ill}, {"trap", trap}, {"fpe", fpe}, {"bus", bus}};
    setvbuf(stdout, NULL, _IONBF, 0);
    if (pipe(ready) || pipe(go)) return 1;
    pid_t p = fork();
    if (p == 0) _exit(unshare(CLONE_NEWUSER | CLONE_NEWPID) ? 1 : 0);
    if (status_of(p) != 0) {
        printf("no namespaces here\n");
        return 77;
    }
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        p = fork();
        if (p == 0) {
            if (unshare(CLONE_NEWUSER | CLONE_NEWPID)) _exit(1);
            pid_t first = fork();
            if (first == 0) {
                all[i].f();
                exit(3);
            }
            if (all[i].f == reads) {
                char c;
                (void)!read(ready[0], &c, 1);
                for (int k = 0; k < 20; k++) {
                    kill(first, SIGTERM);
                    usleep(1000);
                }
                (void)!write(go[1], "g", 1);
            }
            _exit(printf("%s %d\n", all[i].name, status_of(first)) < 0);
        }
        status_of(p);
    }
    return 0;
}

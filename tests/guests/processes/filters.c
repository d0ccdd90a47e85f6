/* Seccomp filters and strict mode that the program installs for itself: every verdict, threads, children, exec. */
// errors: yes
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NR BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ARG_LOW(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define ARG_HIGH(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]) + 4)
#define IS(v, t, f) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v, t, f)
#define RET(v) BPF_STMT(BPF_RET | BPF_K, v)
#define ALLOW RET(SECCOMP_RET_ALLOW)
#define INSTALL(flags, ...)                                                                                            \
    ({                                                                                                                 \
        struct sock_filter insns[] = {__VA_ARGS__};                                                                    \
        install(insns, sizeof insns / sizeof *insns, flags);                                                           \
    })

static long install(struct sock_filter *insns, unsigned n, unsigned flags) {
    struct sock_fprog prog = {n, insns};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
    return r < 0 ? -errno : r;
}
static long one(int nr, unsigned verdict) { return INSTALL(0, NR, IS(nr, 0, 1), RET(verdict), ALLOW); }
static long call(long nr, long a, long b, long c) {
    long r = syscall(nr, a, b, c);
    return r < 0 ? -errno : r;
}

static void in_child(const char *what, int (*f)(void)) {
    int st;
    pid_t p = fork();
    if (p == 0) _exit(f());
    waitpid(p, &st, 0);
    if (WIFEXITED(st))
        printf("%s: exit %d\n", what, WEXITSTATUS(st));
    else
        printf("%s: signal %d\n", what, WTERMSIG(st));
}

static int errors(void) {
    printf("install %ld", one(SYS_mkdir, SECCOMP_RET_ERRNO | EDOM));
    printf(" mode %d\n", prctl(PR_GET_SECCOMP));
    printf("mkdir %ld", call(SYS_mkdir, (long)"/tmp/x/never", 0700, 0));
    printf(" second %ld", one(SYS_rmdir, SECCOMP_RET_ERRNO));
    printf(" rmdir %ld", call(SYS_rmdir, (long)"/tmp/x/never", 0, 0));
    printf(" large %ld", one(SYS_chdir, SECCOMP_RET_ERRNO | 0xffff));
    errno = 0;
    printf(" chdir %ld\n", call(SYS_chdir, (long)"/", 0, 0));
    one(SYS_mmap, SECCOMP_RET_ERRNO | ENOMEM); /* a call that the engine makes for itself, too */
    one(SYS_munmap, SECCOMP_RET_ERRNO | EPERM);
    one(SYS_mprotect, SECCOMP_RET_ERRNO | EPERM);
    one(SYS_madvise, SECCOMP_RET_ERRNO | EPERM);
    one(SYS_rt_sigprocmask, SECCOMP_RET_ERRNO | EPERM);
    printf("mmap %d", mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    sigset_t s;
    sigemptyset(&s);
    printf(" sigprocmask %d\n", sigprocmask(SIG_BLOCK, &s, NULL) < 0 ? errno : 0);
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "Seccomp", 7) == 0) printf("%s", line);
    pid_t p = fork();
    if (p == 0) _exit(call(SYS_mkdir, (long)"/tmp/x/never", 0700, 0) == -EDOM ? 7 : 8);
    int st;
    waitpid(p, &st, 0);
    printf("child %d\n", WEXITSTATUS(st));
    return 3;
}

static volatile int traps;
static volatile long trap_ip;
static void on_sys(int sig, siginfo_t *si, void *context) {
    ucontext_t *uc = context;
    greg_t *g = uc->uc_mcontext.gregs;
    traps++;
    printf("trap %d code %d call %d errno %d arch %d address %d rax %lld rcx %d r11 %d\n", sig, si->si_code, si->si_syscall, si->si_errno,
           si->si_arch == AUDIT_ARCH_X86_64, (greg_t)si->si_call_addr == g[REG_RIP], g[REG_RAX], g[REG_RCX] == g[REG_RIP], (g[REG_R11] & ~0xff) == (g[REG_EFL] & ~0xff));
    g[REG_RAX] = 4711;
}
static int trapped(void) {
    struct sigaction act = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &act, NULL);
    one(SYS_getuid, SECCOMP_RET_TRAP | 99);
    printf("getuid %ld\n", call(SYS_getuid, 0, 0, 0));
    one(SYS_brk, SECCOMP_RET_TRAP | 5);
    printf("brk %ld\n", call(SYS_brk, 0, 0, 0));
    return traps == 2 ? 4 : 5;
}
static int trapped_blocked(void) {
    struct sigaction act = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &act, NULL);
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGSYS);
    sigprocmask(SIG_BLOCK, &s, NULL);
    one(SYS_getuid, SECCOMP_RET_TRAP);
    return (int)call(SYS_getuid, 0, 0, 0);
}
static int killed(void) {
    one(SYS_getuid, SECCOMP_RET_KILL_PROCESS);
    printf("before\n");
    return (int)call(SYS_getuid, 0, 0, 0);
}
static void *calls_getuid(void *arg) {
    call(SYS_getuid, 0, 0, 0);
    printf("not reached\n");
    return arg;
}
static int killed_thread(void) {
    pthread_t t;
    one(SYS_getuid, SECCOMP_RET_KILL_THREAD);
    pthread_create(&t, NULL, calls_getuid, NULL);
    for (int i = 0; i < 3000; i++) {
        char name[64];
        sprintf(name, "/proc/self/task");
        struct stat st;
        stat(name, &st);
        if (st.st_nlink == 3) break;
        usleep(1000);
    }
    printf("others live\n");
    return (int)call(SYS_getuid, 0, 0, 0);
}
static int arguments(void) {
    INSTALL(0, NR, IS(SYS_lseek, 0, 8), ARG_HIGH(1), IS(0x12345678, 0, 5), ARG_LOW(1), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff00),
            BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 8), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0x40, 0, 1), RET(SECCOMP_RET_ERRNO | 77), ALLOW);
    int fd = open("/dev/null", O_RDONLY);
    printf("lseek %ld %ld %ld\n", call(SYS_lseek, fd, 0x1234567800004100, 0) == -77, call(SYS_lseek, fd, 0x1234567800004000, 0) == -77,
           call(SYS_lseek, fd, 0x1234567900004100, 0) == -77);
    /* Every kind of instruction. */
    INSTALL(0, NR, IS(SYS_getgid, 1, 0), ALLOW, BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_LD | BPF_IMM, 7),
            BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_LDX | BPF_MEM, 3), BPF_STMT(BPF_ALU | BPF_NEG, 0),
            BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0), BPF_STMT(BPF_ALU | BPF_OR | BPF_K, 0xc0), BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 0x11), BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 1),
            BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 4), BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 32), BPF_STMT(BPF_STX, 2), BPF_STMT(BPF_LDX | BPF_IMM, 2), BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x8000, 1, 0), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1, 1, 0), RET(SECCOMP_RET_ERRNO | 1), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
            RET(SECCOMP_RET_ERRNO | 2), BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO), BPF_STMT(BPF_RET | BPF_A, 0));
    printf("arithmetic %ld\n", call(SYS_getgid, 0, 0, 0));
    INSTALL(0, NR, IS(SYS_getegid, 1, 0), ALLOW, BPF_STMT(BPF_LDX | BPF_IMM, 0), BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOW);
    return (int)call(SYS_getegid, 0, 0, 0);
}
static int int80(long nr, const void *a) {
    int r;
    __asm__ volatile("int $0x80" : "=a"(r) : "0"(nr), "b"(a) : "memory");
    return r;
}
static int other_table(void) {
    INSTALL(0, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), IS(AUDIT_ARCH_I386, 0, 3), NR, IS(39 /* mkdir */, 0, 1), RET(SECCOMP_RET_ERRNO | 46), ALLOW);
    printf("i386 mkdir %d, getpid %d, x86-64 getpid %d\n", int80(39, 0), int80(20, 0) == getpid(), call(SYS_getpid, 0, 0, 0) > 0);
    return 16;
}
extern char allowed_here[];
static long getppid_here(void) {
    long r;
    __asm__ volatile("syscall\nallowed_here:" : "=a"(r) : "0"(SYS_getppid) : "rcx", "r11", "memory");
    return r;
}
static int by_address(void) {
    uint64_t ip = (uint64_t)allowed_here;
    INSTALL(0, NR, IS(SYS_getppid, 0, 4), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)), IS((uint32_t)ip, 0, 1), ALLOW,
            RET(SECCOMP_RET_ERRNO | ENOLINK), ALLOW);
    printf("here %d elsewhere %ld\n", getppid_here() > 0, call(SYS_getppid, 0, 0, 0));
    return 6;
}
static volatile int stage;
static void *waits_for_filter(void *arg) {
    while (stage == 0) sched_yield();
    return (void *)call(SYS_mkdir, (long)"/tmp/x/never", 0700, 0);
}
static void *filters_itself(void *arg) {
    one(SYS_getgid, SECCOMP_RET_ERRNO | 5);
    stage = 1;
    while (stage == 1) usleep(100);
    return (void *)call(SYS_getgid, 0, 0, 0);
}
static int threads(void) {
    pthread_t t[2];
    void *r;
    pthread_create(&t[0], NULL, waits_for_filter, NULL);
    printf("tsync %ld", INSTALL(SECCOMP_FILTER_FLAG_TSYNC, NR, IS(SYS_mkdir, 0, 1), RET(SECCOMP_RET_ERRNO | 42), ALLOW));
    stage = 1;
    pthread_join(t[0], &r);
    printf(" other thread %ld\n", (long)r);
    stage = 0;
    pthread_create(&t[0], NULL, filters_itself, NULL);
    while (stage == 0) usleep(100);
    printf("diverged: %d %ld mine %ld", INSTALL(SECCOMP_FILTER_FLAG_TSYNC, ALLOW) > 0,
           INSTALL(SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH, ALLOW), call(SYS_getgid, 0, 0, 0) >= 0);
    stage = 2;
    pthread_join(t[0], &r);
    printf(" its own %ld\n", (long)r);
    pthread_create(&t[1], NULL, waits_for_filter, NULL);
    pthread_join(t[1], &r);
    printf("inherited %ld\n", (long)r);
    return 8;
}
static int strict(void) {
    write(1, "strict\n", 7);
    int fd = open("/dev/zero", O_RDONLY);
    char c;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) _exit(1);
    read(fd, &c, 1);
    write(1, "still\n", 6);
    for (;;) syscall(SYS_exit, 9);
}
static int strict_broken(void) {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    write(1, "broken\n", 7);
    getppid();
    write(1, "never\n", 6);
    return 1;
}
static int strict_exit_group(void) {
    syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
    return 1;
}
static int refused(void) {
    struct sock_filter bad[] = {{0xffff, 0, 0, 0}, ALLOW}, no_return[] = {NR}, offset[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 3), ALLOW}, good[] = {ALLOW};
    printf("bad code %ld, no return %ld, bad offset %ld, empty %ld, long %ld", install(bad, 2, 0), install(no_return, 1, 0), install(offset, 2, 0), install(good, 0, 0),
           install(good, 5000, 0));
    printf(", fault %ld", call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 8));
    struct sock_fprog prog = {1, (void *)8};
    printf(" %ld, flags %ld", call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&prog), install(good, 1, 1 << 20));
    printf(", op %ld", call(SYS_seccomp, 99, 0, 0));
    unsigned action = SECCOMP_RET_TRAP, unknown = 0x12340000;
    printf(", available %ld %ld", call(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, (long)&action), call(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, (long)&unknown));
    printf(", mode %d\n", prctl(PR_SET_SECCOMP, 7, 0) < 0 ? errno : 0);
    install(good, 1, 0);
    printf("strict after filter %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0 ? errno : 0);
    return 10;
}
static int no_privilege(void) {
    if (geteuid() == 0 && setresuid(61236, 61236, 61236)) return 1;
    struct sock_filter good[] = {ALLOW};
    struct sock_fprog prog = {1, good};
    printf("no privilege %ld", call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&prog));
    printf(" with no_new_privs %ld\n", install(good, 1, 0));
    return 11;
}
static int order(void) {
    one(SYS_getgid, SECCOMP_RET_ERRNO | 1);
    one(SYS_getgid, SECCOMP_RET_ERRNO | 2);
    one(SYS_getgid, SECCOMP_RET_LOG);
    one(SYS_getuid, SECCOMP_RET_TRACE | 3);
    printf("newest of equals %ld, trace without a tracer %ld\n", call(SYS_getgid, 0, 0, 0), call(SYS_getuid, 0, 0, 0));
    one(SYS_geteuid, SECCOMP_RET_LOG);
    printf("logged %d\n", call(SYS_geteuid, 0, 0, 0) >= 0);
    one(SYS_getgid, SECCOMP_RET_KILL_PROCESS);
    return (int)call(SYS_getgid, 0, 0, 0);
}
static int executes(void) {
    INSTALL(0, NR, IS(SYS_mkdir, 1, 0), IS(SYS_mkdirat, 0, 1), RET(SECCOMP_RET_ERRNO | EXDEV), ALLOW);
    int st = system("mkdir /tmp/x-never 2>&1; exit 12");
    printf("system %d\n", WEXITSTATUS(st));
    fflush(stdout);
    execlp("mkdir", "mkdir", "/absent/a", NULL);
    return 1;
}
static int exec_forbidden(void) {
    one(SYS_execve, SECCOMP_RET_ERRNO | EPERM);
    execl("/bin/true", "true", NULL);
    printf("exec %d\n", errno);
    int st, r = system("true");
    printf("system %d\n", WEXITSTATUS(r));
    return 13;
}

/* A listener answers for the calls of a child. */
static int listened(void) {
    int fd = (int)INSTALL(SECCOMP_FILTER_FLAG_NEW_LISTENER, NR, IS(SYS_mkdir, 3, 0), IS(SYS_getpgid, 2, 0), IS(SYS_dup, 1, 0), ALLOW, RET(SECCOMP_RET_USER_NOTIF));
    if (fd < 0) {
        printf("no listener %d\n", fd);
        return 15;
    }
    printf("cloexec %d second listener %ld\n", fcntl(fd, F_GETFD), INSTALL(SECCOMP_FILTER_FLAG_NEW_LISTENER, ALLOW));
    pid_t p = fork();
    if (p == 0) {
        close(fd);
        printf("mkdir %ld\n", call(SYS_mkdir, (long)"/notified", 0123, 0));
        printf("mkdir %ld\n", call(SYS_mkdir, (long)"/notified", 0124, 0));
        printf("getpgid %d\n", call(SYS_getpgid, 0, 0, 0) == getpgrp());
        printf("dup %ld\n", call(SYS_dup, 1, 0, 0));
        long copy = call(SYS_dup, 1, 0, 0);
        printf("dup %d\n", copy > 2 && close((int)copy) == 0);
        _exit(0);
    }
    for (int i = 0; i < 5; i++) {
        struct seccomp_notif n;
        struct seccomp_notif_resp a;
        memset(&n, 0, sizeof n);
        memset(&a, 0, sizeof a);
        struct pollfd pfd = {fd, POLLIN, 0};
        poll(&pfd, 1, -1);
        if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &n)) printf("receive: %s\n", strerror(errno));
        printf("asked: call %d argument %lld from child %d valid %d\n", n.data.nr, n.data.nr == SYS_mkdir ? n.data.args[1] : 0ll, n.pid == p, ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &n.id));
        a.id = n.id;
        if (i == 0) a.error = -ENOTBLK;
        if (i == 1) a.val = 77;
        if (i == 3) a.error = -EMFILE;
        if (i == 2 || i == 4) a.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &a)) printf("send: %s\n", strerror(errno));
    }
    int st;
    waitpid(p, &st, 0);
    return 14;
}

static void on_usr1(int sig) { write(1, sig == SIGUSR1 ? "usr1\n" : "?\n", sig == SIGUSR1 ? 5 : 2); }

/* A listener has the call of a child, which then sleeps killably: what has a handler waits, what is fatal does not. */
static int listened_killably(void) {
    int fd = (int)INSTALL(SECCOMP_FILTER_FLAG_NEW_LISTENER | 0x20 /* WAIT_KILLABLE_RECV */, NR, IS(SYS_mkdir, 0, 1), RET(SECCOMP_RET_USER_NOTIF), ALLOW);
    if (fd < 0) {
        printf("no killable listener %d\n", fd);
        return 16;
    }
    for (int fatal = 0; fatal < 2; fatal++) {
        pid_t p = fork();
        if (p == 0) {
            signal(SIGUSR1, on_usr1);
            printf("mkdir %ld\n", call(SYS_mkdir, (long)"/notified", 0123, 0));
            raise(SIGTERM); /* our actions are back: it is reported */
        }
        struct seccomp_notif n;
        struct seccomp_notif_resp a;
        memset(&n, 0, sizeof n);
        memset(&a, 0, sizeof a);
        if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &n)) printf("receive: %s\n", strerror(errno));
        kill(p, fatal ? SIGTERM : SIGUSR1);
        usleep(50000);
        printf("valid %d\n", fatal ? 0 : ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &n.id));
        a.id = n.id;
        a.val = 78;
        if (!fatal && ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &a)) printf("send: %s\n", strerror(errno));
        int st;
        waitpid(p, &st, 0);
        printf("ended by %d\n", WTERMSIG(st));
    }
    return 17;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    in_child("errors", errors);
    in_child("trapped", trapped);
    in_child("trapped, blocked", trapped_blocked);
    in_child("killed", killed);
    in_child("killed thread", killed_thread);
    in_child("arguments", arguments);
    in_child("by address", by_address);
    in_child("other table", other_table);
    in_child("threads", threads);
    in_child("strict", strict);
    in_child("strict broken", strict_broken);
    in_child("strict exit_group", strict_exit_group);
    in_child("refused", refused);
    in_child("no privilege", no_privilege);
    in_child("order", order);
    in_child("executes", executes);
    in_child("exec forbidden", exec_forbidden);
    in_child("listened", listened);
    in_child("listened killably", listened_killably);
    return 0;
}

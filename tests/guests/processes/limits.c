/* Every resource limit set small: the program meets it as natively. */
// errors: yes
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct { const char *name; int which; } all[] = {
    {"CPU", RLIMIT_CPU}, {"FSIZE", RLIMIT_FSIZE}, {"DATA", RLIMIT_DATA}, {"STACK", RLIMIT_STACK}, {"CORE", RLIMIT_CORE},
    {"RSS", RLIMIT_RSS}, {"NPROC", RLIMIT_NPROC}, {"NOFILE", RLIMIT_NOFILE}, {"MEMLOCK", RLIMIT_MEMLOCK}, {"AS", RLIMIT_AS},
    {"LOCKS", RLIMIT_LOCKS}, {"SIGPENDING", RLIMIT_SIGPENDING}, {"MSGQUEUE", RLIMIT_MSGQUEUE}, {"NICE", RLIMIT_NICE},
    {"RTPRIO", RLIMIT_RTPRIO}, {"RTTIME", RLIMIT_RTTIME},
};

static void in_child(const char *what, int (*f)(void)) {
    int st;
    pid_t p = fork();
    if (p == 0) _exit(f());
    waitpid(p, &st, 0);
    if (WIFEXITED(st))
        printf("%s: exit %d\n", what, WEXITSTATUS(st));
    else
        printf("%s: signal %s\n", what, strsignal(WTERMSIG(st)));
}
static void set(int which, rlim_t soft, rlim_t hard) {
    struct rlimit r = {soft, hard};
    if (setrlimit(which, &r)) printf("setrlimit: %s\n", strerror(errno));
}
static int cpu(void) {
    set(RLIMIT_CPU, 1, 2);
    for (volatile long i = 0;; i++) {}
}
static int fsize(void) {
    set(RLIMIT_FSIZE, 100, 100);
    char name[] = "/tmp/limits-XXXXXX", text[200] = "";
    int fd = mkstemp(name);
    unlink(name);
    printf("write %zd\n", write(fd, text, 200));
    signal(SIGXFSZ, SIG_IGN);
    printf("again %zd %s\n", write(fd, text, 200), strerror(errno));
    free(malloc(40 << 20));
    pid_t p = fork();
    if (p == 0) _exit(6);
    int st;
    waitpid(p, &st, 0);
    printf("child %d\n", WEXITSTATUS(st));
    signal(SIGXFSZ, SIG_DFL);
    write(fd, text, 200);
    return 1;
}
static int data(void) {
    set(RLIMIT_DATA, 32 << 20, 32 << 20);
    void *big = malloc(64 << 20), *small = malloc(1 << 20);
    printf("DATA: big %d small %d\n", big != NULL, small != NULL);
    pid_t p = fork();
    if (p == 0) _exit(malloc(64 << 20) == NULL);
    int st;
    waitpid(p, &st, 0);
    return WEXITSTATUS(st) + 2;
}
/* A soft limit of 0 is brk's alone: what is mapped goes by the hard one. */
static int no_data(void) {
    set(RLIMIT_DATA, 0, 64 << 20);
    char *small = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int written = mprotect(small, 1 << 20, PROT_READ | PROT_WRITE);
    void *more = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *larger = mremap(more, 1 << 20, 2 << 20, MREMAP_MAYMOVE);
    void *big = mmap(NULL, 128 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("no DATA: mprotect %d, mapped %d, larger %d, big %d, ", written, more != MAP_FAILED, larger != MAP_FAILED,
           big != MAP_FAILED);
    printf("sbrk %d\n", sbrk(8192) != (void *)-1);
    return 5;
}
static int as(void) {
    set(RLIMIT_AS, 200 << 20, 200 << 20);
    void *big = mmap(NULL, 300 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("AS: big %s\n", big == MAP_FAILED ? strerror(errno) : "mapped");
    void *small = mmap(NULL, 50 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("AS: small %s\n", small == MAP_FAILED ? strerror(errno) : "mapped");
    int st;
    pid_t p = vfork();
    if (p == 0) {
        execl("/bin/sh", "sh", "-c", "ulimit -v", NULL);
        _exit(1);
    }
    waitpid(p, &st, 0);
    return WEXITSTATUS(st) + 3;
}
static void *nothing(void *arg) { return arg; }
static int stack(void) {
    set(RLIMIT_STACK, 256 << 10, 1 << 20);
    pthread_attr_t at;
    size_t size;
    pthread_t t;
    pthread_create(&t, NULL, nothing, NULL);
    pthread_join(t, NULL);
    int st;
    pid_t p = vfork();
    if (p == 0) {
        execl("/bin/sh", "sh", "-c", "ulimit -s", NULL);
        _exit(1);
    }
    waitpid(p, &st, 0);
    return WEXITSTATUS(st) + 4;
}
static int nofile(void) {
    set(RLIMIT_NOFILE, 8, 64);
    int n = 0, fd;
    while ((fd = open("/dev/null", O_RDONLY)) >= 0 && n < 100) n++;
    printf("NOFILE: %d opened, %s\n", n, strerror(errno));
    int p2[2];
    printf("pipe %s\n", pipe(p2) ? strerror(errno) : "made");
    close(7);
    close(6);
    pid_t p = fork();
    if (p == 0) _exit(open("/dev/null", O_RDONLY) == 6 ? 7 : 8);
    int st;
    waitpid(p, &st, 0);
    printf("child %d\n", WEXITSTATUS(st));
    p = fork();
    if (p == 0) { /* its own child, and time in which nothing asks the engine for anything */
        pid_t q = fork();
        if (q == 0) {
            usleep(300000);
            _exit(3);
        }
        waitpid(q, &st, 0);
        usleep(300000);
        _exit(WIFEXITED(st) ? WEXITSTATUS(st) + 1 : 99);
    }
    waitpid(p, &st, 0);
    printf("grandchild %d\n", WEXITSTATUS(st));
    FILE *f = popen("echo $((1 + 1))", "r");
    char line[10] = "";
    if (f) fgets(line, sizeof line, f);
    printf("popen %s", f ? line : "failed\n");
    return 9;
}
static int nproc(void) {
    if (geteuid() == 0) {
        setgid(61234);
        setuid(61234);
    }
    set(RLIMIT_NPROC, 0, 0);
    pid_t p = fork();
    if (p == 0) _exit(1);
    printf("fork %s\n", p < 0 ? strerror(errno) : "made");
    pthread_t t;
    printf("pthread_create %s\n", strerror(pthread_create(&t, NULL, nothing, NULL)));
    printf("vfork %d\n", vfork() < 0 ? errno : 0);
    return 10;
}
static int memlock(void) {
    if (geteuid() == 0) {
        setgid(61234);
        setuid(61234);
    }
    set(RLIMIT_MEMLOCK, 64 << 10, 64 << 10);
    char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("mlock %s\n", mlock(p, 1 << 20) ? strerror(errno) : "locked");
    printf("mlock %s\n", mlock(p, 16 << 10) ? strerror(errno) : "locked");
    printf("mlockall %s\n", mlockall(MCL_CURRENT) ? strerror(errno) : "locked");
    return 11;
}
static int sigpending_limit(void) {
    if (geteuid() == 0) {
        setgid(61235);
        setuid(61235);
    }
    set(RLIMIT_SIGPENDING, 2, 2);
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &s, NULL);
    union sigval v = {0};
    int n = 0;
    while (n < 10 && sigqueue(getpid(), SIGRTMIN, v) == 0) n++;
    printf("queued %d %s\n", n, strerror(errno));
    return 12;
}
static int lowers(void) {
    set(RLIMIT_AS, 1ull << 40, 1ull << 41);
    set(RLIMIT_NOFILE, 100, 200);
    set(RLIMIT_STACK, 4 << 20, 8 << 20);
    set(RLIMIT_CORE, 0, 0);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct rlimit r = {0, 0};
        int e = getrlimit(all[i].which, &r);
        if (all[i].which == RLIMIT_AS || all[i].which == RLIMIT_NOFILE || all[i].which == RLIMIT_STACK || all[i].which == RLIMIT_CORE)
            printf("%s %d %llu %llu\n", all[i].name, e, (long long)r.rlim_cur, (long long)r.rlim_max);
    }
    fflush(stdout);
    struct rlimit bad = {10, 5};
    printf("soft above hard: %d\n", setrlimit(RLIMIT_AS, &bad) ? errno : 0);
    int st;
    pid_t p = vfork();
    if (p == 0) {
        execl("/bin/sh", "sh", "-c", "ulimit -v; ulimit -n; ulimit -s; ulimit -c; ulimit -H -v; ulimit -H -n", NULL);
        _exit(1);
    }
    waitpid(p, &st, 0);
    return 13;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    in_child("CPU", cpu);
    in_child("FSIZE", fsize);
    in_child("DATA", data);
    in_child("no DATA", no_data);
    in_child("AS", as);
    in_child("STACK", stack);
    in_child("NOFILE", nofile);
    in_child("NPROC", nproc);
    in_child("MEMLOCK", memlock);
    in_child("SIGPENDING", sigpending_limit);
    in_child("lowered", lowers);
    return 0;
}

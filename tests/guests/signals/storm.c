// flags: -pthread -ldl
/* A storm of signals through everything at once: system calls of many kinds, code seen for the first time, allocation,
 * threads that come and go.  Nothing is lost: every queued real-time signal is handled once, in order, with its value. */
#include "sleeping.h"
#include <dlfcn.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile long ticks, alarms;
static volatile int last[2] = {-1, -1}, handled[2], disorder;
static void tick(int sig, siginfo_t *si, void *context) {
    (void)sig, (void)si, (void)context;
    int e = errno;
    ticks++;
    getppid();
    errno = e;
}
static void queued(int sig, siginfo_t *si, void *context) {
    int which = sig - (SIGRTMIN + 1);
    (void)context;
    if (si->si_value.sival_int != last[which] + 1) disorder++;
    last[which] = si->si_value.sival_int;
    handled[which]++;
}

enum { QUEUED = 3000 };
static volatile int quit;
static void *sender(void *unused) {
    sigset_t all;
    (void)unused;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
    union sigval v = {.sival_ptr = 0};
    for (int i = 0; i < QUEUED; i++)
        for (int k = 0; k < 2; k++) {
            v.sival_int = i;
            while (sigqueue(getpid(), SIGRTMIN + 1 + k, v) != 0) sched_yield();
            if (i % 16 == 0) sched_yield();
        }
    return 0;
}
static void *short_lived(void *p) { return (char *)p + 1; }

/* Fresh code each time: mov eax, imm32; ret. */
static int fresh(unsigned char *page, int n) {
    int at = n * 16 % 4096;
    unsigned char code[] = {0xb8, (unsigned char)n, (unsigned char)(n >> 8), 0, 0, 0xc3};
    memcpy(page + at, code, sizeof code);
    return ((int (*)(void))(page + at))();
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    struct sigaction sa = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGALRM, &sa, 0);
    sa.sa_sigaction = queued;
    sigaddset(&sa.sa_mask, SIGRTMIN + 1);
    sigaddset(&sa.sa_mask, SIGRTMIN + 2);
    sigaction(SIGRTMIN + 1, &sa, 0);
    sigaction(SIGRTMIN + 2, &sa, 0);
    struct itimerval it = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &it, 0);
    pthread_t t;
    pthread_create(&t, 0, sender, 0);
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long bad = 0, rounds = 0;
    int p[2];
    pipe(p);
    while (handled[0] < QUEUED || handled[1] < QUEUED || rounds < 60) {
        char buf[64] = "abcdefgh", back[64] = "";
        bad += write(p[1], buf, 8) != 8;
        bad += read(p[0], back, 8) != 8 || memcmp(buf, back, 8) != 0;
        char *m = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(m, (int)rounds, 65536);
        bad += m[65535] != (char)rounds;
        munmap(m, 65536);
        char *h = malloc(1000 + rounds % 1000);
        h[999] = 1;
        free(h);
        bad += fresh(page, (int)(rounds % 1000)) != (int)(rounds % 1000);
        if (rounds % 20 == 0) {
            pthread_t s;
            void *r;
            sigset_t all, old;
            sigfillset(&all);
            pthread_sigmask(SIG_BLOCK, &all, &old);
            pthread_create(&s, 0, short_lived, buf);
            pthread_sigmask(SIG_SETMASK, &old, 0);
            pthread_join(s, &r);
            bad += r != buf + 1;
        }
        if (rounds % 30 == 0) {
            pid_t c = fork();
            if (c == 0) _exit(7);
            int status;
            bad += waitpid(c, &status, 0) != c || WEXITSTATUS(status) != 7;
        }
        if (rounds % 40 == 0) {
            struct timespec ts = {0, 200000};
            while (nanosleep(&ts, &ts) != 0) {}
            void *lib = dlopen("libm.so.6", RTLD_NOW);
            double (*f)(double) = (double (*)(double))dlsym(lib, "sqrt");
            bad += !f || f(9.0) != 3.0;
            dlclose(lib);
        }
        rounds++;
    }
    pthread_join(t, 0);
    printf("handled %d %d, out of order %d, wrong %ld, ticked %d\n", handled[0], handled[1], disorder, bad, ticks > 0);
    return 0;
}

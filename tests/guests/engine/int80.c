// modes: default single-step evict memcheck tracking
/* i386 system calls by int $0x80 from 64-bit code: which registers they change, arguments of 32 bits, structures. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOW 0x02000000u
#define HIGH 0xabcdef0100000000

static long call(long nr, uint64_t b, uint64_t c, uint64_t d, uint64_t si, uint64_t di, uint64_t bp) {
    uint64_t in[6] = {b, c, d, si, di, bp}, out[8];
    register uint64_t *to __asm__("r12") = out, *from __asm__("r13") = in; /* not rbx or rbp */
    long r;
    __asm__ volatile("push %%rbx\n\tpush %%rbp\n\tmov (%1), %%rbx\n\tmov 8(%1), %%rcx\n\t"
                     "mov 16(%1), %%rdx\n\tmov 24(%1), %%rsi\n\tmov 32(%1), %%rdi\n\tmov 40(%1), %%rbp\n\t"
                     "mov $0x1234, %%r11d\n\tint $0x80\n\t"
                     "mov %%rbx, (%%r12)\n\tmov %%rcx, 8(%%r12)\n\tmov %%rdx, 16(%%r12)\n\tmov %%rsi, 24(%%r12)\n\t"
                     "mov %%rdi, 32(%%r12)\n\tmov %%rbp, 40(%%r12)\n\tmov %%r11, 48(%%r12)\n\tpop %%rbp\n\tpop %%rbx"
                     : "=a"(r)
                     : "r"(from), "r"(to), "0"(nr)
                     : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    if (memcmp(in, out, sizeof in) || out[6] != 0x1234) puts("registers have changed");
    return r;
}
#define C0(n) call(n, 0, 0, 0, 0, 0, 0)
#define C1(n, a) call(n, a, 0, 0, 0, 0, 0)
#define C2(n, a, b) call(n, a, b, 0, 0, 0, 0)
#define C3(n, a, b, c) call(n, a, b, c, 0, 0, 0)

static volatile int ticks;
static void tick(int sig) { ticks += sig == SIGALRM; }

int main(int argc, char **argv) {
    if (argc > 1) {
        printf("executed %s %s\n", argv[1], getenv("LOW") ? getenv("LOW") : "-");
        return 5;
    }
    long r;
    setvbuf(stdout, NULL, _IONBF, 0);
    char *low = mmap((void *)(uintptr_t)LOW, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    uint32_t *w = (uint32_t *)(low + 4096);
    printf("pid %d\n", C0(20 | (long)HIGH) == getpid());
    strcpy(low, "written\n");
    printf("%ld\n", C3(4, 1 | HIGH, LOW, 8 | HIGH));
    printf("%ld %ld\n", C3(4, 99, LOW, 8), C3(4, 1, 1, 8));
    printf("no such call %ld %ld %ld\n", C0(1000000), C0(-1), C0(17));
    strcpy(low, "/tmp/interpose-int80-XXXXXX");
    int fd = mkstemp(low);
    strcpy(low + 64, "0123456789");
    printf("%ld", C3(4, (unsigned)fd, LOW + 64, 10));
    printf(" %ld", C3(19, (unsigned)fd, (uint32_t)-3, 2));
    printf(" %ld", C3(3, (unsigned)fd, LOW + 128, 100));
    printf(" %.3s\n", low + 128);
    r = call(180, (unsigned)fd, LOW + 128, 4, 2, 0, 0);
    printf("%ld %.4s\n", r, low + 128);
    printf("%ld\n", call(180, (unsigned)fd, LOW + 128, 4, 2, 1, 0));
    r = C2(197, (unsigned)fd, LOW + 4096);
    printf("%ld %u\n", r, w[11]);                /* fstat64: size */
    r = C2(195, LOW, LOW + 4096);
    printf("%ld %u\n", r, w[11]);                         /* stat64 */
    r = call(140, (unsigned)fd, 0, 5, LOW + 4096, 1, 0);
    printf("%ld %llu\n", r, *(unsigned long long *)w); /* _llseek */
    printf("%ld %ld\n", C2(93, (unsigned)fd, 7), C2(93, (unsigned)fd, (uint32_t)-1));
    w[0] = LOW + 64, w[1] = 3, w[2] = LOW + 66, w[3] = 2;
    printf("%ld\n", C3(146, 1, LOW + 4096, 2));                                  /* writev */
    printf("\n%ld %d\n", C3(55, (unsigned)fd, F_GETFD, 0), fcntl(fd, F_GETFL) == C3(221, (unsigned)fd, F_GETFL, 0));
    memset(w, 0, 16);
    r = C3(55, (unsigned)fd, F_GETLK, LOW + 4096);
    printf("%ld %u\n", r, *(uint16_t *)w);
    printf("%ld %ld\n", C1(10, LOW), C3(5, LOW, O_RDONLY, 0));
    printf("%ld %d\n", C1(265, 0) < 0 ? C2(265, 1, LOW + 4096) : -1, w[0] != 0); /* clock_gettime */
    r = C2(78, LOW + 4096, 0);
    printf("%ld %d\n", r, w[0] > 1000000);                   /* gettimeofday */
    printf("%d %d\n", C1(13, LOW + 4096) > 1000000, w[0] > 1000000);             /* time */
    w[0] = 0, w[1] = 2000000;
    printf("%ld\n", C2(162, LOW + 4096, 0));
    w[0] = 0, w[1] = 2000;
    printf("%ld\n", call(142, 0, 0, 0, 0, LOW + 4096, 0));                       /* select */
    r = C1(122, LOW);
    printf("%ld %s\n", r, low);
    long at = call(192, 0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint32_t)-1, 0);
    printf("low %d\n", at > 0 && at < 0x100000000);
    memset((void *)at, 1, 8192);
    printf("%ld\n", C3(125, (uint64_t)at, 4096, PROT_READ));
    printf("%ld\n", C2(91, (uint64_t)at, 8192));
    printf("%d\n", (void *)C1(45, 0) == sbrk(0));
    printf("%ld", C1(42, LOW));
    int *pipes = (int *)low;
    printf(" %ld\n", C3(4, (unsigned)pipes[1], LOW + 64, 5));
    printf("%ld\n", C3(3, (unsigned)pipes[0], LOW + 200, 100));
    long child = C0(2);
    if (child == 0) {
        C1(1, 7);
        abort();
    }
    printf("%d %d\n", C3(7, (uint32_t)child, LOW + 4096, 0) == child, WEXITSTATUS(w[0]));
    /* Limits of two 32-bit words: of what is kept for the program (AS), and of the kernel's own (FSIZE). */
    for (int which = 1; which <= 9; which += 8) {
        struct rlimit before, after;
        getrlimit(which, &before);
        w[0] = 0x50000000, w[1] = 0xffffffff;
        printf("limit %d: %ld", which, C2(75, (unsigned)which, LOW + 4096));
        w[1] = 0;
        r = C2(191, (unsigned)which, LOW + 4096);
        printf(" %ld %x %x", r, w[0], w[1]);
        r = C2(76, (unsigned)which, LOW + 4096);
        printf(" %ld %x %x", r, w[0], w[1]);
        getrlimit(which, &after);
        printf(" %lx %lx", (long)after.rlim_cur, (long)after.rlim_max);
        setrlimit(which, &before);
        w[0] = 2, w[1] = 1;
        printf(" %ld %ld %ld\n", C2(75, (unsigned)which, LOW + 4096), C2(75, (unsigned)which, 1), C2(191, (unsigned)which, 1));
    }
    printf("no such limit %ld\n", C2(191, 99, LOW + 4096));
    /* Values in pairs of registers, and calls whose structures are the same. */
    printf("%ld %ld", call(250, (unsigned)fd, 0, 0, 10, 99, 0), call(250, (unsigned)fd, 0, 0, 10, 0, 0));        /* fadvise64 */
    printf(" %ld %ld\n", call(314, (unsigned)fd, 0, 0, 5, 0, 2), call(314, (unsigned)fd, 0, 0x80000000, 5, 0, 2)); /* sync_file_range */
    strcpy(low, "/no-such-queue");
    printf("%ld %ld %ld\n", C1(278, LOW), C1(263, 77), C2(290, 1, 0));              /* mq_unlink, timer_delete, ioprio_get */
    printf("%ld %ld\n", C3(393, 0x7f001234, 1, 0), C2(22, 1, 0));                 /* semget, umount */
    struct sigaction sa = {.sa_handler = tick};
    sigaction(SIGALRM, &sa, NULL);
    w[0] = 0, w[1] = 20000, w[2] = 0, w[3] = 20000; /* again and again: the first may come before the sleep */
    printf("%ld\n", C3(104, 0, LOW + 4096, 0));                                  /* setitimer */
    w[8] = 20, w[9] = 0;
    r = C2(162, LOW + 4096 + 32, LOW + 4096 + 48);
    w[1] = w[3] = 0;
    C3(104, 0, LOW + 4096, 0);
    printf("%ld %d %d\n", r, ticks > 0, w[12] < 20);
    strncpy(low + 512, argv[0], 1000);
    strcpy(low + 2048, "by 32-bit pointers");
    strcpy(low + 2100, "LOW=yes");
    w[0] = LOW + 512, w[1] = LOW + 2048, w[2] = 0, w[3] = LOW + 2100, w[4] = 0;
    if (readlink("/proc/self/exe", low + 512, 1000) < 0) return 1;
    printf("%ld\n", C3(11, LOW + 3000, LOW + 4096, LOW + 4096 + 12));
    child = C0(2);
    if (child == 0) {
        C3(11, LOW + 512, LOW + 4096, LOW + 4096 + 12);
        _exit(9);
    }
    waitpid((int)child, (int *)w, 0);
    printf("%d\n", WEXITSTATUS(w[0]));
    C1(252, 0);
    return 1;
}

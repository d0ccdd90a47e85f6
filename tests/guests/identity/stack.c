/* A main stack that grows as far as RLIMIT_STACK allows, under the program's and the kernel's accesses. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

__attribute__((noinline)) static long deep(long n) {
    volatile char frame[4096];
    frame[0] = (char)n;
    long r = n ? deep(n - 1) : 0;
    return r + frame[0];
}

/* The kernel is the first to touch the lowest page. */
__attribute__((noinline)) static int far_read(void) {
    char room[70 << 20];
    int ends[2];
    pipe(ends);
    write(ends[1], "words", 6);
    long n = read(ends[0], room, 6);
    printf("read %ld %s\n", n, n > 0 ? room : "");
    return room[0] == 'w';
}

static void overflow(int sig, siginfo_t *info, void *context) {
    (void)context;
    printf("signal %d code %d\n", sig, info->si_code);
    fflush(stdout);
    _exit(0);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 100 << 20;
    printf("raised %d\n", setrlimit(RLIMIT_STACK, &limit));
    printf("60 MB deep: %d\n", deep(60 << 8) != 0);
    printf("far %d\n", far_read());
    printf("mlockall %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
    unsigned char resident[16];
    char *later = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mincore(later, 65536, resident);
    printf("locked later %d, unlocked %d\n", resident[7] & 1, munlockall());
    static char other[65536];
    stack_t alternate = {.ss_sp = other, .ss_size = sizeof other};
    sigaltstack(&alternate, NULL);
    struct sigaction action = {.sa_sigaction = overflow, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    return (int)deep(1 << 20);
}

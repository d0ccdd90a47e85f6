/* select with more descriptors than a set has: the kernel takes as many bits as its table has slots. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
// modes: none memcheck
// errors: yes

static void ask(const char *what, char *set, int n, int fd) {
    struct timespec no_time = {0};
    for (int i = 0; i < 2; i++) {
        memset(set, 0, 32);
        set[fd / 8] = (char)(1 << fd % 8);
        errno = 0;
        long r = i ? syscall(SYS_pselect6, n, set, NULL, NULL, &no_time, NULL) : syscall(SYS_select, n, set, NULL, NULL, &no_time);
        printf("%s %d: %ld errno %d set %d\n", what, i, r, errno, set[fd / 8] == (char)(1 << fd % 8));
    }
}

int main(void) {
    struct rlimit limit;
    int ends[2], status;
    pid_t p = fork(); /* its table is as large as what is open; one from an exec as its maker's was */
    if (p != 0) return waitpid(p, &status, 0) == p && WIFEXITED(status) ? WEXITSTATUS(status) : 9;
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    pipe(ends);
    write(ends[1], "x", 1);
    getrlimit(RLIMIT_NOFILE, &limit);
    memset(page, 0xff, 4096); /* what stands behind a set is no part of it */
    ask("all", page + 512, (int)limit.rlim_cur, ends[0]);
    ask("few", page + 512, ends[0] + 1, ends[0]);
    ask("negative", page + 512, -1, ends[0]);
    printf("kept %d\n", page[512 + 32] == (char)0xff && page[512 + 300] == (char)0xff);
    dup2(ends[0], 200); /* 256 slots from now on */
    ask("high", page + 512, 1024, 200);
    struct rlimit few = {220, 220};
    setrlimit(RLIMIT_NOFILE, &few);
    while (dup(0) >= 0) {}
    ask("full", page + 512, 1024, 200); /* no number is free */
    munmap(page + 4096, 4096);
    ask("last", page + 4096 - 32, 1024, 200);
    return 0;
}

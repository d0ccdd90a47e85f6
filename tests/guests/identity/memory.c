/* The address space as a program may use it: prints the same natively and here. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define GB (1ull << 30)
static sigjmp_buf back;
static volatile int armed;
static volatile int code_seen;
static void *volatile addr_seen;

static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)context;
    if (!armed) _exit(99);
    armed = 0;
    code_seen = info->si_code;
    addr_seen = info->si_addr;
    siglongjmp(back, sig);
}

/* A call that is expected to fault. */
static void try_call(const char *what, void *at, void *expected) {
    int sig = sigsetjmp(back, 1);
    if (sig == 0) {
        armed = 1;
        int r = ((int (*)(void))at)();
        armed = 0;
        printf("%s: returned %d\n", what, r);
    } else {
        printf("%s: signal %d, code %d, address %s\n", what, sig, code_seen,
               addr_seen == expected ? "of the fetch" : "elsewhere");
    }
}

static void *map(size_t n, int prot, int flags) {
    return mmap(NULL, n, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void fetches(void) {
    static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov eax, 42; ret */
    char *p = map(3 * 4096, PROT_READ | PROT_WRITE, 0);
    memcpy(p, code, sizeof code);
    try_call("data", p, p);
    mprotect(p, 4096, PROT_READ | PROT_EXEC);
    try_call("code", p, p);
    mprotect(p, 4096, PROT_READ | PROT_WRITE);
    try_call("data again", p, p);
    mprotect(p, 4096, PROT_NONE);
    try_call("nothing", p, p);
    char *hole = map(4096, PROT_READ, 0);
    munmap(hole, 4096);
    try_call("hole", hole, hole);
    void *filled = mmap(hole, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(filled, code, sizeof code);
    try_call("hole filled", hole, hole);
    /* From an executable page into one that is not: falls through, and an instruction across the border. */
    mprotect(p, 8192, PROT_READ | PROT_WRITE);
    memset(p, 0x90, 8192);
    mprotect(p, 4096, PROT_READ | PROT_EXEC);
    try_call("fall through", p + 4090, p + 4096);
    mprotect(p, 4096, PROT_READ | PROT_WRITE);
    memcpy(p + 4094, code, sizeof code);
    mprotect(p, 4096, PROT_READ | PROT_EXEC);
    try_call("across", p + 4094, p + 4096);
    mprotect(p + 4096, 4096, PROT_READ | PROT_EXEC);
    try_call("across, whole", p + 4094, p + 4096);
    static int word = 0x00c3;
    try_call("static data", &word, &word);
    int on_stack = 0x00c3;
    try_call("stack", &on_stack, &on_stack);
    char *heap = malloc(100);
    heap[0] = (char)0xc3;
    try_call("heap", heap, heap);
    free(heap);
}

static void reservations(void) {
    static const size_t sizes[] = {64 * GB, 512 * GB, 2048 * GB};
    for (int i = 0; i < 3; i++) {
        char *p = map(sizes[i], PROT_READ | PROT_WRITE, MAP_NORESERVE);
        if (p == MAP_FAILED) {
            printf("%zu GiB: %s\n", (size_t)(sizes[i] / GB), strerror(errno));
            continue;
        }
        for (size_t at = 0; at < sizes[i]; at += sizes[i] / 7) p[at] = (char)i;
        printf("%zu GiB: %d %d\n", (size_t)(sizes[i] / GB), p[sizes[i] / 7 * 6], p[sizes[i] - 1]);
        int part = madvise(p, sizes[i] / 2, MADV_DONTNEED), zero = p[sizes[i] / 7];
        printf("part given back: %d %d, whole: %d\n", part, zero, munmap(p, sizes[i]));
    }
    char *none = map(256 * GB, PROT_NONE, MAP_NORESERVE);
    printf("PROT_NONE: %d, opened: %d\n", none != MAP_FAILED, mprotect(none + 100 * GB, 1 << 20, PROT_READ | PROT_WRITE));
    none[100 * GB + 5] = 1;
    printf("reserved again: %d\n",
           mmap(none + 100 * GB, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
               (void *)(none + 100 * GB));
    munmap(none, 256 * GB);
}

static void kinds(void) {
    char *low = map(1 << 20, PROT_READ | PROT_WRITE, MAP_32BIT);
    printf("MAP_32BIT: %d\n", low != MAP_FAILED && (uintptr_t)low + (1 << 20) <= 1ull << 32);
    memset(low, 1, 1 << 20);
    char *huge = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (huge != MAP_FAILED) munmap(huge, 2 << 20);
    char *thp = aligned_alloc(2 << 20, 4 << 20);
    printf("transparent: %d\n", madvise(thp, 4 << 20, MADV_HUGEPAGE) == 0 || errno == EINVAL);
    memset(thp, 2, 4 << 20);
    free(thp);
    int fd = memfd_create("things", 0);
    printf("memfd: %d\n", ftruncate(fd, 8192));
    char *a = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *b = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
    strcpy(a + 4000, "shared by two mappings");
    printf("%s\n", b + 4000);
    char *moved = mremap(a, 8192, 16384, MREMAP_MAYMOVE);
    printf("moved: %s\n", moved + 4000);
    close(fd);
    char *start = sbrk(0);
    printf("brk up %d", brk(start + (3 << 20)));
    memset(start, 7, 3 << 20);
    printf(", down %d", brk(start + 100));
    printf(", again %d", brk(start + 9000));
    printf(": %d %d\n", start[99], start[8999]);
    printf("below its start: %d\n", brk((void *)4096) == -1 && errno == ENOMEM);
    char *d = map(8 * 4096, PROT_READ | PROT_WRITE, 0);
    memset(d, 9, 8 * 4096);
    madvise(d + 4096, 4096, MADV_DONTNEED);
    int sum = 0;
    for (int i = 0; i < 4096; i++) sum += d[4096 + i];
    if (sum == 0) printf("DONTNEED: %d %d %d\n", d[4095], d[4096], d[8192]);
}

static void limits(void) {
    struct rlimit as = {512 << 20, RLIM_INFINITY}, got;
    printf("set %d", setrlimit(RLIMIT_AS, &as));
    getrlimit(RLIMIT_AS, &got);
    printf(", get %d\n", got.rlim_cur == as.rlim_cur && got.rlim_max == as.rlim_max);
    void *big = map(600 << 20, PROT_READ | PROT_WRITE, 0);
    printf("600 MB: %s\n", big == MAP_FAILED ? strerror(errno) : "mapped");
    void *fits = map(100 << 20, PROT_READ | PROT_WRITE, 0);
    printf("100 MB: %s\n", fits == MAP_FAILED ? strerror(errno) : "mapped");
    printf("malloc of 700 MB: %d\n", malloc(700 << 20) == NULL && errno == ENOMEM);
    fflush(stdout);
    if (fork() == 0) {
        execlp("sh", "sh", "-c", "ulimit -S -v", (char *)NULL);
        _exit(9);
    }
    int st;
    wait(&st);
    struct rlimit data = {64 << 20, RLIM_INFINITY};
    as.rlim_cur = RLIM_INFINITY;
    printf("back %d, data %d\n", setrlimit(RLIMIT_AS, &as), setrlimit(RLIMIT_DATA, &data));
    printf("brk over it: %d\n", sbrk(128 << 20) == (void *)-1);
    struct rlimit wrong = {2, 1};
    printf("wrong: %d %d\n", setrlimit(RLIMIT_AS, &wrong), errno == EINVAL);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGSEGV, &sa, NULL);
    fetches();
    reservations();
    kinds();
    limits();
    return 0;
}

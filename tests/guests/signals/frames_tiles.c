/* AMX: the kernel makes room for the tiles in a thread's frames once that thread has used them. */
// flags: -pthread
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TILE_DATA 18
#define GET_PERMISSION 0x1022
#define ASK_PERMISSION 0x1023

static int spoil;
static uint64_t word(const void *at) {
    uint64_t v;
    memcpy(&v, at, 8);
    return v;
}
static void handler(int sig, siginfo_t *si, void *context) {
    (void)si;
    char *x = (char *)((ucontext_t *)context)->uc_mcontext.fpregs;
    uint32_t size, whole;
    memcpy(&whole, x + 468, 4);
    memcpy(&size, x + 480, 4);
    printf(" signal %d: size %u of %u features %lx tiles in use %lx\n", sig, size, whole, (long)word(x + 472),
           (long)word(x + 512) & 3l << (TILE_DATA - 1));
    if (spoil) x[512 + 2] |= 1 << (TILE_DATA - 16); /* "the frame holds tile data" */
}
static void show(const char *when) {
    printf("%s\n", when);
    raise(SIGUSR1); /* by the kernel's call */
    __asm__ volatile("ud2a" ::: "memory");
}
static void skip(int sig, siginfo_t *si, void *context) {
    handler(sig, si, context);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void use(int tile) {
    static struct {
        uint8_t palette, row, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1, .bytes = {64, 64}, .rows = {16, 16}};
    static uint8_t data[1024], back[1024];
    for (int i = 0; i < 1024; i++) data[i] = (uint8_t)(i * 5 + tile);
    __asm__ volatile("ldtilecfg %0\n tileloadd (%1, %2), %%tmm1" ::"m"(config), "r"(data), "r"(64l) : "memory");
    raise(SIGUSR1);
    __asm__ volatile("tilestored %%tmm1, (%0, %1)" ::"r"(back), "r"(64l) : "memory");
    printf(" the tile came through the signal: %d\n", memcmp(data, back, 1024) == 0);
}
static void release(void) { __asm__ volatile("tilerelease"); }

static void *thread(void *arg) {
    show("another thread, before");
    use(2);
    release();
    show("another thread, after");
    return arg;
}
static void alternate(const char *when, size_t size) {
    stack_t ss = {.ss_sp = malloc(size), .ss_size = size};
    int r = sigaltstack(&ss, NULL);
    printf("%s: alternate stack of %zu: %d %s\n", when, size, r, r ? strerrorname_np(errno) : "");
}

int main(void) {
    uint32_t a, b, c, d;
    unsigned long permitted = 0;
    setvbuf(stdout, 0, _IONBF, 0);
    __cpuid_count(7, 0, a, b, c, d);
    if (!(d >> 24 & 1) || syscall(SYS_arch_prctl, GET_PERMISSION, &permitted) != 0) return 0; /* no AMX */
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &sa, 0);
    sa.sa_sigaction = skip;
    sigaction(SIGILL, &sa, 0);
    spoil = 1;
    show("without permission, the frame claims tile data");
    spoil = 0;
    alternate("without permission", 2048);
    long r = syscall(SYS_arch_prctl, ASK_PERMISSION, TILE_DATA);
    printf("asked with a small alternate stack: %ld %s\n", r, r ? strerrorname_np(errno) : "");
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    r = syscall(SYS_arch_prctl, ASK_PERMISSION, TILE_DATA);
    printf("asked: %ld\n", r);
    if (r) return 0;
    for (size_t size = 2048; size <= 16384; size += 2048) alternate("with permission", size);
    sigaltstack(&none, NULL);
    show("permitted, not used");
    use(1);
    show("used");
    release();
    show("released");
    pthread_t t;
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    if (fork() == 0) {
        show("child, before");
        use(3);
        show("child, after");
        _exit(0);
    }
    wait(NULL);
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    show("at the end");
    return 0;
}

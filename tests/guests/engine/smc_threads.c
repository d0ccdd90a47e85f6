/* Code replaced by one thread while others run it: a patched immediate, mprotect, MAP_FIXED; a timer signal meanwhile. */
// flags: -pthread
// modes: default tiny-cache evict no-chaining far-images
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define RUNNERS 3
#define VERSIONS 100
typedef int (*fn)(void);
static uint8_t *volatile code;
static atomic_int published, stop, calls, older, backwards;
static atomic_long ticks;

static void put(uint8_t *p, int v) {
    uint8_t c[] = {0x90, 0x90, 0x90, 0xb8, 0, 0, 0, 0, 0xc3}; /* immediate at 4: aligned */
    memcpy(c + 4, &v, 4);
    memcpy(p, c, sizeof c);
}

static void *runs(void *arg) {
    int last = 0;
    while (!atomic_load(&stop)) {
        int wanted = atomic_load(&published);
        int got = ((fn)code)();
        if (got < wanted) atomic_fetch_add(&older, 1);
        if (got < last) atomic_fetch_add(&backwards, 1);
        last = got;
        atomic_fetch_add(&calls, 1);
    }
    return arg;
}

static void on_tick(int sig) {
    (void)sig;
    atomic_fetch_add(&ticks, 1);
}

static void phase(const char *name, void (*change)(int)) {
    pthread_t t[RUNNERS];
    atomic_store(&stop, 0);
    atomic_store(&published, 0);
    for (int i = 0; i < RUNNERS; i++) pthread_create(&t[i], NULL, runs, NULL);
    for (int k = 1; k <= VERSIONS; k++) {
        change(k);
        atomic_store(&published, k);
        int seen = atomic_load(&calls);
        while (atomic_load(&calls) < seen + RUNNERS) usleep(50);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < RUNNERS; i++) pthread_join(t[i], NULL);
    printf("%s: %d older, %d backwards, at last %d\n", name, atomic_load(&older), atomic_load(&backwards), ((fn)code)());
}

static void patch(int k) { *(volatile int *)(code + 4) = k; }

static void protect(int k) {
    mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    patch(k);
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
}

static int fd;
static uint8_t *writable;
static void replace(int k) {
    put(writable + 4096 * k, k);
    mmap(code, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 4096 * k);
}

static void move(int k) {
    uint8_t *q = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    put(q, k);
    uint8_t *old = code;
    code = q;
    (void)old; /* others may be in it still */
}

int main(void) {
    struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &sa, NULL);
    struct itimerval every = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &every, NULL);
    code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    put(code, 0);
    phase("patched", patch);
    patch(0);
    phase("protected", protect);
    fd = memfd_create("versions", 0);
    if (ftruncate(fd, 4096 * (VERSIONS + 1))) return 1;
    writable = mmap(0, 4096 * (VERSIONS + 1), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    put(writable, 0);
    replace(0);
    phase("replaced", replace);
    move(0);
    phase("elsewhere", move);
    printf("ticks %d\n", atomic_load(&ticks) > 5);
    return 0;
}

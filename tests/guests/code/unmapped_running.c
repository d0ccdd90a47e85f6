/* Code that is taken away while another thread runs it: after the call that does so, not one instruction more. */
// flags: -pthread
#include "code.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

#define TURNS 15
static uint8_t *page;
static volatile long counters[2];
static __thread sigjmp_buf back;
static atomic_int faults, ready;

static void on_fault(int sig, siginfo_t *si, void *uc) {
    (void)sig;
    (void)si;
    (void)uc;
    siglongjmp(back, 1);
}

/* A loop of several jumps, each with an increment: inc qword [rdi]; jmp +0; ... jmp back */
static void fill(uint8_t *p, int which) {
    uint8_t *at = p;
    for (int i = 0; i < 6; i++) {
        static const uint8_t inc[] = {0x48, 0xff, 0x07, 0xeb, 0x02, 0x90, 0x90};
        memcpy(at, inc, sizeof inc);
        at += sizeof inc;
    }
    int32_t back_to = (int32_t)(p - (at + 5));
    *at = 0xe9;
    memcpy(at + 1, &back_to, 4);
    (void)which;
}

static void *runs(void *arg) {
    for (int k = 0; k < TURNS; k++) {
        while (atomic_load(&ready) <= k) {}
        if (sigsetjmp(back, 1) == 0) {
            ((void (*)(volatile long *))(void *)page)(&counters[0]);
        } else {
            atomic_fetch_add(&faults, 1);
        }
    }
    return arg;
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    page = map(4096, RW);
    pthread_t t;
    pthread_create(&t, NULL, runs, NULL);
    int late = 0;
    for (int k = 0; k < TURNS; k++) {
        page = mmap(page, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        fill(page, 0);
        mprotect(page, 4096, RX);
        long before = counters[0];
        atomic_store(&ready, k + 1);
        while (counters[0] < before + 20000) {}
        if (k % 3 == 0)
            munmap(page, 4096);
        else if (k % 3 == 1)
            mprotect(page, 4096, PROT_READ);
        else
            mmap(page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        long then = counters[0];
        for (volatile int i = 0; i < 2000; i++) {}
        late += counters[0] != then;
        while (atomic_load(&faults) <= k) {}
        late += counters[0] != then;
        if (k % 3 == 0) page = mmap(page, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    pthread_join(t, NULL);
    printf("%d faults, %d late\n", atomic_load(&faults), late);
    return 0;
}

/* Code of one page that calls and jumps to another page by direct branches, while only the other page changes. */
// flags: -pthread
#include "code.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

static uint8_t *caller, *callee;
static volatile uint64_t seen;
static volatile uint8_t stop;
static sigjmp_buf back;

static void on_fault(int sig) { siglongjmp(back, sig); }

static void rel32(uint8_t *at, const uint8_t *to) {
    int32_t rel = (int32_t)(to - (at + 4));
    memcpy(at, &rel, 4);
}

/* call callee; ret     and at 64: 1: call callee; mov [rdi], rax; cmp byte [rsi], 0; je 1b; ret */
static void write_caller(void) {
    uint8_t once[] = {0xe8, 0, 0, 0, 0, 0xc3};
    uint8_t loop[] = {0xe8, 0, 0, 0, 0, 0x48, 0x89, 0x07, 0x80, 0x3e, 0x00, 0x74, 0, 0xc3};
    memcpy(caller, once, sizeof once);
    rel32(caller + 1, callee);
    memcpy(caller + 64, loop, sizeof loop);
    rel32(caller + 65, callee);
    caller[76] = (uint8_t)-13;
}

static int call(void) { return ((fn)caller)(); }

static void *runs(void *arg) {
    ((void (*)(volatile uint64_t *, volatile uint8_t *))(void *)(caller + 64))(&seen, &stop);
    return arg;
}

static void replace(int value) {
    mmap(callee, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    put(callee, value);
    mprotect(callee, 4096, RX);
}

int main(void) {
    caller = map(8192, RWX);
    callee = caller + 4096;
    write_caller();
    long sum = 0;
    for (int i = 0; i < 20; i++) { /* by stores */
        put(callee, i);
        for (int k = 0; k < 3; k++) sum += call() * (k + 1);
    }
    for (int i = 0; i < 20; i++) { /* by a new mapping */
        replace(1000 + i);
        for (int k = 0; k < 3; k++) sum += call() * (k + 1);
    }
    printf("%ld\n", sum);

    signal(SIGSEGV, on_fault);
    munmap(callee, 4096);
    int sig = sigsetjmp(back, 1);
    printf("%d\n", sig ? sig : call());

    require(mmap(callee, 4096, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == callee, "mmap");
    put(callee + 3, 1);  /* nop; nop; nop; mov eax, value at an aligned address; ret */
    memset(callee, 0x90, 3);
    alarm(30); /* it would go round in what was there */
    pthread_t t;
    pthread_create(&t, NULL, runs, NULL);
    for (uint32_t i = 1; i <= 50; i++) { /* under a thread that goes round and round */
        __atomic_store_n((uint32_t *)(void *)(callee + 4), i, __ATOMIC_SEQ_CST);
        while (seen != i) {}
    }
    stop = 1;
    pthread_join(t, NULL);
    printf("%d\n", (int)seen);
    return 0;
}

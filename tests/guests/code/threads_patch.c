/* One thread patches an immediate in a loop of another: with the protocol of the manual, and without. */
// flags: -pthread
#include "code.h"
#include <pthread.h>
#include <stdatomic.h>

#define TURNS 30
static uint8_t *page;
static atomic_int wanted, seen;

/* The manual's protocol: the other thread waits, then serializes, then executes what was written. */
static void *serialized(void *arg) {
    for (int turn = 1; turn <= TURNS; turn++) {
        while (atomic_load(&wanted) < turn) {}
        int a = 0, b, c, d;
        __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
        int got = ((fn)page)();
        if (got != turn) {
            printf("turn %d: %d\n", turn, got);
            exit(1);
        }
        atomic_store(&seen, turn);
    }
    return arg;
}

/* xor eax, eax; again: mov edx, imm32; mov [rdi], edx; cmp dword [rsi], 0; je again; ret: never leaves by itself */
static const uint8_t loop[] = {0x31, 0xc0, 0x90, 0xba, 0, 0, 0, 0, 0x89, 0x17, 0x83, 0x3e, 0x00, 0x74, 0xf4, 0xc3};
static volatile int shown;
static volatile int quit;

static void *loops(void *arg) {
    ((void (*)(volatile int *, volatile int *))(void *)(page + 64))(&shown, &quit);
    return arg;
}

int main(void) {
    page = map(4096, RWX);
    put(page, 0);
    memcpy(page + 64, loop, sizeof loop);
    pthread_t t;
    pthread_create(&t, NULL, serialized, NULL);
    for (int turn = 1; turn <= TURNS; turn++) {
        *(volatile int *)(page + 1) = turn;
        atomic_store(&wanted, turn);
        while (atomic_load(&seen) < turn) {}
    }
    pthread_join(t, NULL);
    printf("with the protocol: %d turns\n", atomic_load(&seen));
    pthread_create(&t, NULL, loops, NULL);
    for (int turn = 1; turn <= TURNS; turn++) {
        *(volatile int *)(page + 68) = turn; /* aligned: the other sees the old or the new one */
        while (shown != turn)
            if (shown != 0 && shown != turn - 1 && shown != turn) {
                printf("neither: %d\n", shown);
                exit(1);
            }
    }
    quit = 1;
    pthread_join(t, NULL);
    printf("without: %d\n", shown);
    return 0;
}

/* Entries of a linkage table whose slots change, while they are in use and between two uses; lazy ones, too. */
// flags: -Wl,-z,lazy
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#define ENTRY(name, marker)                                                                                            \
    __asm__(".text; .balign 16; .globl " name "; " name ": " marker "; jmp *" name "_slot(%rip);"                     \
            ".data; .balign 8; .globl " name "_slot; " name "_slot: .quad 0; .text")
ENTRY("plain", "");
ENTRY("marked", "endbr64");
ENTRY("flagged", ".byte 0xf2");
long plain(long), marked(long), flagged(long);
extern long (*volatile plain_slot)(long), (*volatile marked_slot)(long), (*volatile flagged_slot)(long);

static long one(long x) { return x + 1; }
static long two(long x) { return x * 2; }
static long three(long x) { return x ^ 3; }

/* The second half of an entry as the linker makes it: its slot leads here until it has been asked. */
__asm__(".text; .balign 16; lazy: endbr64; pushq $7; jmp resolve; .balign 16; resolve: addq $8, %rsp;"
        "leaq three_again(%rip), %rax; movq %rax, marked_slot(%rip); jmp *%rax");
long lazy(long);
long three_again(long x) { return x ^ 3; }

static void in_turn(void) {
    long (*const to[])(long) = {one, two, three};
    long sum = 0;
    plain_slot = marked_slot = flagged_slot = one;
    for (int i = 0; i < 3000; i++) {
        if (i % 7 == 0) plain_slot = to[i % 3];
        if (i % 1000 == 999) marked_slot = to[i / 1000];
        flagged_slot = to[i % 2];
        sum += plain(i) + marked(i) * 3 + flagged(i) * 5;
    }
    printf("in turn %ld\n", sum);
}

static void lazily(void) {
    long sum = 0;
    for (int i = 0; i < 500; i++) {
        if (i % 100 == 0) marked_slot = lazy;
        sum += marked(i);
    }
    printf("lazily %ld\n", sum);
}

/* A slot that leads nowhere: the fault is that of the target. */
static volatile int faults;
static void on_fault(int sig, siginfo_t *info, void *context) {
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    faults += sig == SIGSEGV && info->si_addr == (void *)16 && g[REG_RIP] == 16 && g[REG_RDI] == faults;
    g[REG_RIP] = (greg_t)one;
}

static void nowhere(void) {
    long sum = 0;
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    plain_slot = (void *)16;
    for (int i = 0; i < 20; i++) sum += plain(i);
    printf("nowhere %d %ld\n", faults, sum);
}

static void *flip(void *arg) {
    for (int i = 0; i < 20000; i++) plain_slot = i & 1 ? one : two;
    return arg;
}

static void flipped(void) {
    pthread_t t;
    int bad = 0;
    plain_slot = one;
    pthread_create(&t, NULL, flip, NULL);
    for (int i = 0; i < 20000; i++) {
        long got = plain(10);
        bad += got != 11 && got != 20;
    }
    pthread_join(t, NULL);
    printf("flipped %d\n", bad);
}

int main(void) {
    in_turn();
    lazily();
    nowhere();
    flipped();
    return 0;
}

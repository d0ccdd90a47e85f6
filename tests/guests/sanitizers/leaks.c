/* The leak check stops all threads by ptrace: a block whose address is in a register only is none. */
// sanitize: leak
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HIDE (~(uintptr_t)0)
static volatile int spinning, reading;
static int ends[2];

/* The stacks hold no address: each is made from its complement, in one register. */
static __attribute__((noinline)) uintptr_t hidden(size_t size) {
    volatile uintptr_t p = (uintptr_t)malloc(size);
    uintptr_t not_p = p ^ HIDE;
    p = 0;
    return not_p;
}

static void *spin(void *arg) {
    uintptr_t p = hidden(1000);
    __asm__ volatile("not %0\n movl $1, %1\n 1: pause\n jmp 1b" : "+b"(p), "=m"(spinning));
    return arg;
}

static void *sleeper(void *arg) {
    uintptr_t p = hidden(2000);
    char byte;
    register long number __asm__("rax") = 0; /* read */
    register void *buffer __asm__("rsi") = &byte;
    register long length __asm__("rdx") = 1, fd __asm__("rdi") = ends[0];
    register uintptr_t kept __asm__("r14") = p;
    __asm__ volatile("not %%r14\n movl $1, %2\n syscall"
                     : "+r"(kept), "+r"(number), "=m"(reading)
                     : "r"(buffer), "r"(length), "r"(fd)
                     : "rcx", "r11", "memory");
    return arg;
}

static __attribute__((noinline)) void wipe(void) {
    volatile char below[8192];
    for (unsigned i = 0; i < sizeof below; i++) below[i] = 0;
}

int main(void) {
    pthread_t t;
    pipe(ends);
    pthread_create(&t, NULL, spin, NULL);
    pthread_create(&t, NULL, sleeper, NULL);
    while (!spinning || !reading) usleep(1000);
    volatile uintptr_t lost = hidden(3000);
    lost = 0;
    wipe();
    printf("checked\n");
    fflush(stdout);
    return 0;
}

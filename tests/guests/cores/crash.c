/* Dies with known values in registers: by a fault or by abort, alone or beside a thread that reads and one that computes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int ready;
static int fds[2];

static void *sleeper(void *buffer) {
    long r;
    ready++;
    __asm__ volatile("mov $0xaaaa, %%r12d\n mov $0xbbbb, %%r13d\n mov $0xcccc, %%ebx\n syscall"
                     : "=a"(r) : "a"((long)SYS_read), "D"((long)fds[0]), "S"(buffer), "d"(1l)
                     : "rbx", "r12", "r13", "rcx", "r11", "memory");
    return 0;
}
static void *spinner(void *unused) {
    ready++;
    __asm__ volatile("mov $0x1111, %%r12d\n mov $0x2222, %%r13d\n mov $0x3333, %%ebx\n 1: inc %%rax\n jmp 1b" ::: "rax", "rbx", "r12", "r13", "memory");
    return unused;
}
static void crash(int *at) {
    static const char text[16] = "vector register";
    __asm__ volatile("movdqu (%1), %%xmm9\n mov $0x1234, %%r12d\n mov $0x5678, %%r13d\n mov $0x9abc, %%ebx\n movl $1, (%0)"
                     :: "a"(at), "d"(text) : "rbx", "r12", "r13", "memory");
}

int main(int argc, char **argv) {
    pthread_t t;
    char c;
    __asm__ volatile("pushfq\n orl $0x200000, (%%rsp)\n popfq" ::: "memory", "cc"); /* ID, inherited by threads */
    if (argc > 2) {
        if (pipe(fds)) return 2;
        pthread_create(&t, 0, sleeper, &c);
        pthread_create(&t, 0, spinner, 0);
        while (ready < 2) usleep(1000);
        usleep(100000);
    }
    if (!strcmp(argv[1], "abort")) abort();
    crash((int *)24);
    return 0;
}

/* Children that share memory are killed while they run new code all the time, most often amid its translation. */
// modes: default tiny-cache memcheck
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FUNCTIONS = 4000, BYTES = 32, STACK = 1 << 16 };

static unsigned char *code;
static volatile int up;

/* Each returns its argument and its number, over a jump, so that there are two blocks. */
static void fill(void) {
    static const unsigned char text[] = {0x8d, 0x87, 0, 0, 0, 0, 0xeb, 0, 0xc3}; /* lea n(%rdi),%eax; jmp; ret */
    for (int i = 0; i < FUNCTIONS; i++) {
        unsigned char *at = code + i * BYTES;
        memcpy(at, text, sizeof text);
        memcpy(at + 2, &i, 4);
    }
}

static long call_all(int from) {
    long sum = 0;
    for (int i = from; i < FUNCTIONS; i++) sum += ((int (*)(int))(void *)(code + i * BYTES))(i);
    return sum;
}

static int run(void *arg) {
    (void)arg;
    up = 1;
    for (;;) call_all(0);
    return 0;
}

int main(void) {
    char *stack = malloc(STACK);
    for (int round = 0; round < 12; round++) {
        code = mmap(NULL, FUNCTIONS * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        fill();
        mprotect(code, FUNCTIONS * BYTES, PROT_READ | PROT_EXEC);
        up = 0;
        int status, pid = clone(run, stack + STACK, CLONE_VM | SIGCHLD, NULL);
        while (!up) {}
        usleep((useconds_t)(300 * round));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        printf("%d %ld\n", WTERMSIG(status), call_all(0));
        munmap(code, FUNCTIONS * BYTES);
    }
    free(stack);
    return 0;
}

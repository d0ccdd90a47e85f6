/* Processes that run new code all the time, most often amid its translation, are killed; a child of each that shares its
 * memory goes on, with new code of its own. */
// modes: default memcheck
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FUNCTIONS = 4096, OWN = 512, BYTES = 32, PAGE = 4096, STACK = 1 << 16, ROUNDS = 12 };

static unsigned char *code, *own;
static int say[2], hear[2];

static int call(unsigned char *of, int i) { return ((int (*)(int))(void *)(of + i * BYTES))(i); }

static long call_all(unsigned char *of, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) sum += call(of, i);
    return sum;
}

/* Each returns its argument and its number, over a jump, so that there are two blocks. */
static unsigned char *make(int n) {
    static const unsigned char text[] = {0x8d, 0x87, 0, 0, 0, 0, 0xeb, 0, 0xc3}; /* lea n(%rdi),%eax; jmp; ret */
    unsigned char *at = mmap(NULL, (size_t)n * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < n; i++) {
        memcpy(at + i * BYTES, text, sizeof text);
        memcpy(at + i * BYTES + 2, &i, 4);
    }
    mprotect(at, (size_t)n * BYTES, PROT_READ | PROT_EXEC);
    for (int i = 0; i < n; i += PAGE / BYTES) call(at, i); /* each page is known to have code */
    return at;
}

static int survive(void *arg) {
    char byte;
    long sum = 0;
    (void)arg;
    if (read(say[0], &byte, 1) == 1) sum = call_all(own, OWN);
    if (write(hear[1], &sum, sizeof sum) != sizeof sum) _exit(1);
    _exit(0);
}

static void maker(void) {
    char *stack = malloc(STACK);
    own = make(OWN);
    code = make(FUNCTIONS);
    clone(survive, stack + STACK, CLONE_VM | SIGCHLD, NULL);
    if (write(hear[1], "", 1) != 1) _exit(1);
    call_all(code, FUNCTIONS);
    for (;;) pause();
}

int main(void) {
    for (int round = 0; round < ROUNDS; round++) {
        char byte;
        int status;
        long sum = 0;
        if (pipe(say) < 0 || pipe(hear) < 0) return 1;
        pid_t pid = fork();
        if (pid == 0) maker();
        if (read(hear[0], &byte, 1) != 1) return 1;
        usleep((useconds_t)(300 * round));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        if (write(say[1], "", 1) != 1 || read(hear[0], &sum, sizeof sum) != sizeof sum) return 1;
        printf("%d %ld\n", WTERMSIG(status), sum);
        for (int i = 0; i < 2; i++) close(say[i]), close(hear[i]);
    }
    return 0;
}

/* A child that shares memory runs a thousand new functions. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { FUNCTIONS = 1000, BYTES = 32, STACK = 1 << 16 };

static int run(void *code) {
    for (int i = 0; i < FUNCTIONS; i++) ((void (*)(void))((unsigned char *)code + i * BYTES))();
    return 7;
}

int main(void) {
    static const unsigned char text[] = {0xc3}; /* ret */
    char *stack = malloc(STACK);
    unsigned char *code = mmap(NULL, FUNCTIONS * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < FUNCTIONS; i++) memcpy(code + i * BYTES, text, sizeof text);
    mprotect(code, FUNCTIONS * BYTES, PROT_READ | PROT_EXEC);
    int status, pid = clone(run, stack + STACK, CLONE_VM | SIGCHLD, code);
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7) return 1;
    free(stack);
    return 0;
}

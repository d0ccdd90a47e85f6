/* A thread's stack overflows by a store to a large frame, in the guard page: the fault alone says so.
 * @build: -pthread */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf back;
static volatile char sink;
static char *p;

static void handler(int sig) {
    sink = p[4];
    siglongjmp(back, sig);
}

__attribute__((noinline)) static int recurse(int depth) {
    char frame[4000];
    memset(frame, depth, sizeof frame);
    return depth < 100000 ? recurse(depth + 1) + frame[7] : 0;
}

static void *run(void *unused) {
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    if (!sigsetjmp(back, 1)) recurse(0);
    sink = p[5];
    return unused;
}

int main(void) {
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &act, NULL);
    p = malloc(4);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    free(p);
    return 0;
}

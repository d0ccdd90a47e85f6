/* Asks whether memory is defined: of the heap, of the stack in frames near and far, of what was copied there, of what
 * requests made undefined, and of another thread's stack. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

static char global[64];
static pthread_barrier_t both;
static int *elsewhere;

static void is_defined(const char *what, const void *at) {
    char command[80];
    snprintf(command, sizeof command, "check_memory defined %p 4", at);
    fprintf(stderr, "## %s\n", what);
    (void)VALGRIND_MONITOR_COMMAND(command);
}

__attribute__((noinline)) static void ask_inner(int *of_caller) {
    int own[4];
    own[0] = 1;
    is_defined("own, first", own);
    is_defined("own, second", own + 1);
    is_defined("the caller's", of_caller + 1);
    memcpy(own, global, 8);
    is_defined("own, copied", own + 1);
}

__attribute__((noinline)) static void ask_outer(void) {
    int mine[4];
    mine[0] = 2;
    ask_inner(mine);
    mine[1] = 3;
    is_defined("mine, defined", mine + 1);
}

static void *waits(void *arg) {
    int there[8];
    elsewhere = there;
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    return arg;
}

int main(void) {
    char *block = malloc(64), *cleared = calloc(1, 64);
    pthread_t thread;
    is_defined("a block", block);
    is_defined("a cleared block", cleared);
    memcpy(cleared, block, 8);
    is_defined("copied to a cleared block", cleared);
    is_defined("beside it", cleared + 8);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(block + 16, 8);
    is_defined("requested in a block", block + 16);
    is_defined("behind it", block + 24);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(global, 16);
    is_defined("requested in data", global + 4);
    memcpy(global + 32, block, 8);
    is_defined("copied to data", global + 32);
    ask_outer();
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, waits, NULL);
    pthread_barrier_wait(&both);
    is_defined("of another thread", elsewhere + 2);
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
    free(block);
    free(cleared);
    return 0;
}

/* Stacks: without frame pointers, through a wrapper, from a signal handler, in a thread, through a PLT. */
#include <interpose/interpose.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#define KEEP __attribute__((noipa))
static volatile int after;
KEEP void leaf(const char *name) {
    VALGRIND_PRINTF_BACKTRACE("%s\n", name);
    after++;
}
KEEP void deep(int n, const char *name) {
    volatile char room[200];
    room[n] = 1;
    if (n)
        deep(n - 1, name);
    else
        leaf(name);
    after += room[n];
}
KEEP int wrapped(int x) {
    leaf("wrapped");
    return x;
}
int I_WRAP_SONAME_FNNAME_ZU(NONE, wrapped)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result;
}
KEEP int compare(const void *a, const void *b) {
    static int once;
    if (!once++) leaf("callback");
    return *(const int *)a - *(const int *)b;
}
static void handler(int signal) {
    (void)signal;
    leaf("handler");
    after++;
}
KEEP void interrupted(void) {
    raise(SIGUSR1);
    after++;
}
static void *thread(void *arg) {
    leaf("thread");
    after++;
    return arg;
}
int main(void) {
    int numbers[2] = {2, 1};
    pthread_t t;
    leaf("direct");
    deep(3, "deep");
    wrapped(1);
    qsort(numbers, 2, sizeof numbers[0], compare);
    signal(SIGUSR1, handler);
    interrupted();
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    printf("%d\n", after > 0);
    return 0;
}

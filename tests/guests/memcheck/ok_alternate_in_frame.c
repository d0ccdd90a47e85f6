/* An alternate signal stack is an array of a function further up, in the first thread and in another one: what lies
 * between it and where the signal came is alive, after handlers that return and after those that jump out.
 * @build: -pthread */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf back;
static volatile int jumps;

__attribute__((noinline)) static int deeper(int n) {
    char pad[100];
    memset(pad, n, sizeof pad);
    return n ? deeper(n - 1) + pad[n] : pad[0];
}

static void handler(int sig) {
    char big[2000];
    memset(big, sig, sizeof big);
    if (deeper(5) + big[77] != 15 + sig) abort();
    if (jumps) siglongjmp(back, 1);
}

__attribute__((noinline)) static int interrupted(int n) {
    int values[50];
    for (int i = 0; i < 50; i++) values[i] = i * n;
    raise(SIGUSR2);
    int sum = 0;
    for (int i = 0; i < 50; i++) sum += values[i];
    return sum;
}

__attribute__((noinline)) static int jumped_to(int n) {
    int kept[20];
    for (int i = 0; i < 20; i++) kept[i] = n;
    jumps = 1;
    if (!sigsetjmp(back, 1)) interrupted(n);
    jumps = 0;
    int sum = 0;
    for (int i = 0; i < 20; i++) sum += kept[i];
    return sum;
}

static void *run(void *unused) {
    char array[65536];
    stack_t stack = {.ss_sp = array, .ss_size = sizeof array};
    sigaltstack(&stack, NULL);
    for (int i = 1; i < 4; i++)
        if (interrupted(i) != 1225 * i || jumped_to(i) != 20 * i || deeper(i) != i * (i + 1) / 2) abort();
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    return unused;
}

int main(void) {
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR2, &act, NULL);
    run(NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    run(NULL);
    return 0;
}

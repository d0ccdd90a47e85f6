/* Ends with calls under way, in the middle of a block: by a fault below many calls, or because the main thread leaves
 * while two others run. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int up;
static volatile int sink;
static int *volatile nowhere;

__attribute__((noinline)) static int down(int n) {
    int here = 1 + sink;
    if (n == 0) *nowhere = here;
    return here + down(n - 1) + sink;
}
__attribute__((noinline)) static void turn(int n) { sink += n; }
__attribute__((noinline)) static void turns(void) {
    for (int i = 0;; i++) {
        turn(i);
        if (i == 100000) up++;
    }
}
static void *thread(void *unused) {
    (void)unused;
    turns();
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "threads")) {
        pthread_t one, two;
        pthread_create(&one, 0, thread, 0);
        pthread_create(&two, 0, thread, 0);
        while (up < 2) turn(1);
        exit(3);
    }
    return down(50);
}

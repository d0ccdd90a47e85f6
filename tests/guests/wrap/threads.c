/* Wrapping is a matter of each thread alone. */
#include <pthread.h>
#include "header.h"
#define THREADS 4
#define CALLS 20000
static long wraps;
NOINLINE long foo(long a, long b) { return a * 3 + b; }
long I_WRAP_SONAME_FNNAME_ZU(NONE, foo)(long a, long b) {
    long result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    __atomic_fetch_add(&wraps, 1, __ATOMIC_RELAXED);
    CALL_FN_W_WW(result, fn, a, b);
    return result + 7;
}
static void *work(void *arg) {
    long sum = 0;
    for (long i = 0; i < CALLS; i++) sum += foo(i, (long)arg);
    return (void *)sum;
}
int main(void) {
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        pthread_join(t[i], &sum);
        printf("%ld\n", (long)sum);
    }
    printf("wraps %ld\n", wraps);
    return 0;
}

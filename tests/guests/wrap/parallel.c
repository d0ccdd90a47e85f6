/* Threads call functions all the time while their wrappers are loaded: from then on, every call is wrapped. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#define THREADS 3
#define FUNCTIONS 6
#define MORE(n) __attribute__((noipa)) int f##n(int x) { return x + n; }
MORE(0) MORE(1) MORE(2) MORE(3) MORE(4) MORE(5)
static int (*const f[FUNCTIONS])(int) = {f0, f1, f2, f3, f4, f5};
static int loaded; /* wrappers known to be there */
static int late, early, wrong, stop;
static void *work(void *arg) {
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        int known = __atomic_load_n(&loaded, __ATOMIC_ACQUIRE);
        for (int i = 0; i < FUNCTIONS; i++) {
            int (*volatile call)(int) = f[i];
            int value = call(1);
            if (value != 1 + i && value != 10 * (1 + i)) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
            if (i < known && value != 10 * (1 + i)) __atomic_fetch_add(&late, 1, __ATOMIC_RELAXED);
        }
        __atomic_fetch_add(&early, known == 0, __ATOMIC_RELAXED);
    }
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, NULL);
    while (__atomic_load_n(&early, __ATOMIC_ACQUIRE) < 10000) usleep(1000);
    for (int i = 0; i < FUNCTIONS && i + 1 < argc; i++) {
        if (!dlopen(argv[i + 1], RTLD_NOW)) return puts(dlerror()), 1;
        __atomic_store_n(&loaded, i + 1, __ATOMIC_RELEASE);
        usleep(20000);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    printf("late %d wrong %d\n", late, wrong);
    return 0;
}

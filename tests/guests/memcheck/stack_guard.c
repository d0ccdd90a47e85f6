/* The guard page of a thread's stack, read by the thread itself; it faults.
 * @build: -pthread -D_GNU_SOURCE */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf back;
static char *volatile lowest;
static volatile char sink;

static void handler(int sig) { siglongjmp(back, sig); }

__attribute__((noinline)) static void look(void) {
    if (!sigsetjmp(back, 1)) sink = lowest[-10];
}

static void *run(void *unused) {
    pthread_attr_t attributes;
    void *start;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    lowest = start;
    look();
    return unused;
}

int main(void) {
    pthread_t thread;
    signal(SIGSEGV, handler);
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    return 0;
}

/* Two threads, one of which asks for dumps and zeros: with --separate-threads=yes they are its own. */
#include <interpose/callgrind.h>
#include <pthread.h>

__attribute__((noinline)) int leaf(int n) {
    int s = 0;
    for (int i = 0; i < n; i++) __asm__ volatile("" : "+r"(s));
    return s;
}

__attribute__((noinline)) void *other(void *unused) {
    leaf(100);
    CALLGRIND_DUMP_STATS_AT("first");
    leaf(20);
    CALLGRIND_ZERO_STATS;
    leaf(10);
    return unused;
}

int main(void) {
    pthread_t thread;
    leaf(1000);
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
    leaf(3);
    return 0;
}

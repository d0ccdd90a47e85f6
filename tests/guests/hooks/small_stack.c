/* Calls from a thread with a stack of 256 KiB, and from the main one. */
#include <pthread.h>
#include <stdio.h>

__attribute__((noipa, used)) int add(int a, int b) { return a + b; }

static void *calls(void *p) {
    printf("%d\n", add(1, 2));
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10);
    pthread_create(&thread, &attr, calls, 0);
    pthread_join(thread, 0);
    calls(0);
    return 0;
}

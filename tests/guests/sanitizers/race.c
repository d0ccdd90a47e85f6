/* ThreadSanitizer: two threads count without a lock. */
// sanitize: thread
#include <pthread.h>
#include <stdio.h>

static int count;

static void *work(void *unused) {
    for (int i = 0; i < 1000; i++)
        count++;
    return unused;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    puts("joined");
    return 0;
}

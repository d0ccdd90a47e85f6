#include <pthread.h>
volatile int shared, quiet[1000];
void *work(void *arg) {
    for (int i = 0; i < 1000; i++) quiet[i]++;
    shared = (int)(long)arg;
    return 0;
}
int main(void) {
    pthread_t t;
    for (long i = 1; i < 4; i++) {
        pthread_create(&t, 0, work, (void *)i);
        pthread_join(t, 0);
    }
    return shared;
}

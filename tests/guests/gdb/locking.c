#include <pthread.h>
#include <unistd.h>
volatile long turns[2], stop;
void *work(void *arg) { while (!stop) turns[1]++; return 0; }
void check(void) {}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    while (!turns[1]) usleep(100);
    check();
    turns[0]++;
    turns[0]++;
    stop = 1;
    pthread_join(t, 0);
    return 0;
}

#include <pthread.h>
int counts[3];
void hit(long n) { counts[n]++; }
void *work(void *arg) { for (int i = 0; i < 50; i++) hit((long)arg); return 0; }
void begin(void) {}
int main(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void *)i);
    begin();
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    return counts[0] + counts[1] + counts[2] == 150 ? 0 : 1;
}

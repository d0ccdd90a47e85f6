#include <pthread.h>
#include <unistd.h>
volatile int over;
void hit(long n) { (void)n; }
void *work(void *arg) { while (!over) { hit((long)arg); usleep(100); } return 0; }
void begin(void) {}
int main(void) {
    pthread_t t[12];
    for (long i = 0; i < 12; i++) pthread_create(&t[i], 0, work, (void *)i);
    begin();
    for (int i = 0; i < 12; i++) pthread_join(t[i], 0);
    return 0;
}

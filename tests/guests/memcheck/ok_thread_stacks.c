/* No error: threads on stacks of their own and of the library's, with thread-local storage.
 * @build: -pthread */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static __thread int counter = 3;
static __thread char buffer[100];

static void *work(void *arg) {
    char local[4000];
    memset(local, 1, sizeof local);
    for (int i = 0; i < 100; i++) {
        counter += local[i * 10];
        buffer[i] = (char)i;
    }
    return (void *)((long)arg + counter + buffer[99]);
}

int main(void) {
    pthread_t t[4];
    pthread_attr_t attr;
    char *own = NULL;
    int bad = 0;
    pthread_attr_init(&attr);
    if (posix_memalign((void **)&own, 4096, 65536))
        return 9;
    for (int i = 0; i < 4; i++) {
        if (i == 1)
            pthread_attr_setstack(&attr, own, 65536);
        if (pthread_create(&t[i], i == 1 ? &attr : NULL, work, (void *)(long)i))
            return 8;
        void *r;
        pthread_join(t[i], &r);
        bad += (long)r != i + 103 + 99;
    }
    pthread_attr_destroy(&attr);
    free(own);
    return bad + (counter != 3);
}

/* Undefined values that another thread stores on a stack: they come from there, not from the frame that they lie in.
 * Where that frame was, another one's variables are its own.
 *
 * @build: -O0 -pthread
 * @options: --track-origins=yes */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct shared {
    int stored, copied[5], heap, *block;
};
static volatile int seen;

static void *run(void *p) {
    struct shared *s = p;
    int x[7], *h = malloc(sizeof *h);
    s->stored = x[3];
    memcpy(s->copied, x, sizeof s->copied);
    s->heap = *h;
    *s->block = x[5];
    free(h);
    return 0;
}

/* share's frame is not its thread's newest while run stores there: of that one nobody knows whose it is. */
__attribute__((noinline)) static void await(struct shared *s) {
    pthread_t t;
    pthread_create(&t, 0, run, s);
    pthread_join(t, 0);
}

static void share(void) {
    struct shared s;
    s.block = malloc(sizeof *s.block);
    await(&s);
    if (s.stored) seen++;
    if (s.copied[2]) seen++;
    if (s.heap) seen++;
    if (*s.block) seen++;
    free(s.block);
}

static void after(void) {
    volatile char own[300];
    for (int i = 20; i < 300; i += 40)
        if (own[i]) seen++;
}

int main(void) {
    share();
    after();
    return 0;
}

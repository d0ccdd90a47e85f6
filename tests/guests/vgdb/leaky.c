/* Blocks of every leak kind, two errors, undefined bytes; then it waits as its argument says: "pauses" (blocked),
 * "sleeps", "computes". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
    struct node *next;
    char pad[24];
};
struct node *kept;
char *inner;
int global[10];

static struct node *pair(void) {
    struct node *n = calloc(1, sizeof *n);
    n->next = calloc(1, sizeof *n);
    return n;
}

__attribute__((noinline)) static void lose(void) {
    volatile struct node *n = pair();
    n = malloc(13);
    n = 0;
}

__attribute__((noinline)) static void clear(void) {
    volatile char junk[2000];
    for (unsigned i = 0; i < sizeof junk; i++) junk[i] = 0;
}

static volatile int begun;

static void *thread(void *arg) {
    begun = 1;
    for (;;) pause();
    return arg;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "pauses";
    volatile char *bad = malloc(10), *small = malloc(4);
    volatile char undefined[16];
    pthread_t second;
    kept = pair();
    inner = (char *)malloc(100) + 20;
    lose();
    clear();
    for (int i = 0; i < 8; i++) undefined[i] = 0;
    bad[10] = 1;
    if (small[2]) global[1] = 1;
    pthread_create(&second, NULL, thread, NULL);
    while (!begun) usleep(1000); /* Callgrind counts the threads that it has seen run */
    printf("global=%p bad=%p kept=%p inner=%p undefined=%p code=%p\n", (void *)global, (void *)bad, (void *)kept,
           (void *)inner, (void *)undefined, (void *)(unsigned long)main);
    fflush(stdout);
    if (strcmp(how, "computes") == 0)
        for (volatile unsigned long n = 0;;) n++;
    while (strcmp(how, "sleeps") == 0) usleep(1000);
    for (;;) pause();
}

/* A stack that the program has painted, to see later how deep it was: what was not used keeps its paint, and a local
 * that was not set is undefined all the same.
 * @build: -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE  (1 << 17)
#define PAINT ((char)0xa5)

__attribute__((noinline)) static void use(const volatile int *p) {
    if (p[3])
        puts("set");
}

static void *work(void *deep) {
    volatile char local[5000];
    volatile int unset[8];
    local[0] = local[4999] = 1;
    if (deep)
        use(unset);
    return NULL;
}

static int is_painted(const char *stack, int n) {
    while (n && stack[n - 1] == PAINT) n--;
    return n == 0;
}

static int run(char *stack, void *deep) {
    pthread_t t;
    pthread_attr_t attr;
    memset(stack, PAINT, SIZE / 2);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, SIZE);
    if (pthread_create(&t, &attr, work, deep))
        exit(8);
    pthread_join(t, NULL);
    pthread_attr_destroy(&attr);
    return !is_painted(stack, SIZE / 2);
}

static char *map(void) {
    return mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void) {
    char *block;
    if (posix_memalign((void **)&block, 4096, SIZE))
        return 9;
    int bad = run(map(), NULL) + run(map(), block) + run(block, NULL);
    free(block);
    return bad;
}

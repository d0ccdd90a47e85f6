/* Forks while other threads copy memory that nobody has set, declare stacks and move descriptors; children do the same. */
// modes: none memcheck origins caches
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3
#define FORKS   25
#define BYTES   (1 << 16)
static atomic_int stop;

/* VALGRIND_STACK_REGISTER and VALGRIND_STACK_DEREGISTER */
static unsigned long request(unsigned long code, unsigned long a, unsigned long b) {
    unsigned long words[6] = {code, a, b}, result = 0;
    __asm__ volatile("rol $3, %%rdi; rol $13, %%rdi; rol $61, %%rdi; rol $51, %%rdi; xchg %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(words)
                     : "cc", "memory");
    return result;
}

static void copies(void) {
    char *from = malloc(BYTES), *to = malloc(BYTES);
    for (int i = 0; i < BYTES; i += 64) memcpy(to + i, from + i, 16);
    unsigned long stack = request(0x1501, (unsigned long)to, (unsigned long)to + BYTES);
    request(0x1502, stack, 0);
    free(from);
    free(to);
}

static void *works(void *arg) {
    while (!stop) copies();
    return arg;
}

int main(void) {
    pthread_t threads[THREADS];
    int well = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, works, NULL);
    for (int i = 0; i < FORKS; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            copies();
            _exit(7);
        }
        well += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%d children\n", well);
    return 0;
}

/* Forks while threads run through ever new code and calls: what a tool keeps of each thread is amid a change then, and a
 * thread of the child gets the number of one of its parent's. */
// modes: none memcheck callgrind caches
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stop;

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int work(unsigned x) {
    char text[64];
    int n[8];
    for (int i = 0; i < 8; i++) n[i] = (int)((x = x * 1103515245 + 12345) >> 16);
    switch (x >> 20 & 7) {
    case 0: free(malloc(x >> 20)); break;
    case 1: snprintf(text, sizeof text, "%d %s %u", n[0], "a", x); break;
    case 2: snprintf(text, sizeof text, "%g", n[1] / 7.0); break;
    case 3: sscanf("12 ab", "%d %s", n, text); break;
    case 4: strtod("3.25e5", NULL); break;
    case 5: strtoul("1234567", NULL, 8); break;
    default: qsort(n, 8, sizeof *n, compare);
    }
    return n[0];
}

static void *run(void *seed) {
    for (unsigned x = (unsigned)(long)seed; !stop; x = x * 69069 + 1) work(x);
    return NULL;
}

static void *once(void *seed) {
    for (unsigned i = 0; i < 50; i++) work(i * 0x10000000u + (unsigned)(long)seed);
    return NULL;
}

static void *forks(void *arg) {
    int well = 0;
    for (int i = 0; i < 6; i++) {
        int status, pid = fork();
        if (pid == 0) {
            pthread_t t[3];
            for (long k = 0; k < 3; k++) pthread_create(&t[k], NULL, once, (void *)k);
            for (int k = 0; k < 3; k++) pthread_join(t[k], NULL);
            _exit(5);
        }
        waitpid(pid, &status, 0);
        well += WIFEXITED(status) && WEXITSTATUS(status) == 5;
    }
    printf("%d\n", well);
    return arg;
}

int main(void) {
    pthread_t t[4], f;
    for (long k = 0; k < 4; k++) pthread_create(&t[k], NULL, run, (void *)(k * 977 + 3));
    pthread_create(&f, NULL, forks, NULL);
    work(1);
    pthread_join(f, NULL);
    stop = 1;
    for (int k = 0; k < 4; k++) pthread_join(t[k], NULL);
    return 0;
}

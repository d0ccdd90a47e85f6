// What the manual's requests and the heap get from a program that means no good: labels of a megabyte, with markup, that
// cannot be read, ranges that overlap, wrap and are untracked twice, a stack in .bss, threads, a fork, an exec.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include <sys/mman.h>
#include <malloc.h>
#include <interpose/datagrind.h>
static char altstack[1 << 16] __attribute__((aligned(64)));
long big[300];
static void *worker(void *a) {
    char label[64]; snprintf(label, sizeof label, "<b>t%ld</b>\n&\"'", (long)a);
    for (int i = 0; i < 50; i++) { DATAGRIND_START_EVENT(label); volatile long *p = malloc(100); p[1] = i; free((void *)p); DATAGRIND_END_EVENT(label); }
    return 0;
}
int main(void) {
    pthread_attr_t at; pthread_attr_init(&at); pthread_attr_setstack(&at, altstack, sizeof altstack);
    pthread_t t[3]; pthread_create(&t[0], &at, worker, (void *)0);
    for (long i = 1; i < 3; i++) pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    for (int i = 0; i < 300; i++) big[i] += i;
    char *huge = malloc(1ull << 33); huge[0] = 1; huge[(1ull << 33) - 1] = 2;
    huge = realloc(huge, 1ull << 32); huge[5] = 1; free(huge);
    void *m = memalign(4096, 10), *z = malloc(0), *c = calloc(3, 7), *ap = 0; posix_memalign(&ap, 64, 100); void *aa = aligned_alloc(64, 128);
    z = realloc(z, 50); z = realloc(z, 0); free(m); free(c); free(ap); free(aa);
    void *r = realloc(NULL, 10); r = reallocarray(r, 10, 10); free(r); free(NULL);
    char *mega = malloc(1 << 20); memset(mega, 'x', (1 << 20) - 1); mega[(1 << 20) - 1] = 0;
    DATAGRIND_TRACK_RANGE(big, sizeof big, mega, mega); DATAGRIND_START_EVENT(mega);
    DATAGRIND_TRACK_RANGE(big, 10, "", ""); DATAGRIND_TRACK_RANGE((char *)big + 5, 10, "a", "b\xff\xfe");
    DATAGRIND_UNTRACK_RANGE(big, sizeof big); DATAGRIND_UNTRACK_RANGE(big, sizeof big); DATAGRIND_UNTRACK_RANGE(big, 11);
    DATAGRIND_TRACK_RANGE((void *)-8l, 100, "w", "wraps"); DATAGRIND_TRACK_RANGE(0, 0, "n", "nothing");
    DATAGRIND_END_EVENT("never begun"); DATAGRIND_END_EVENT(mega);
    volatile char *bad = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DATAGRIND_START_EVENT((char *)bad); DATAGRIND_START_EVENT((char *)1);
    DATAGRIND_TRACK_RANGE(big, 8, (char *)bad, (char *)3);
    char *edge = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); mprotect(edge + 4096, 4096, PROT_NONE); memset(edge + 4090, 'e', 6);
    DATAGRIND_START_EVENT(edge + 4090);
    free(mega); fflush(stdout);
    if (!fork()) { big[7] = 9; _exit(3); }
    int st; wait(&st);
    printf("%d\n", WEXITSTATUS(st)); fflush(stdout);
    execlp("sh", "sh", "-c", "echo done", NULL);
}

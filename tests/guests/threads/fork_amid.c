/* Fork, vfork and spawn from threads while others allocate, print and make threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop, wrong;
static void *allocates(void *arg) {
    while (!stop) {
        char *p[50];
        for (int i = 0; i < 50; i++) memset(p[i] = malloc(i * 97 + 1), i, i * 97 + 1);
        for (int i = 0; i < 50; i++) free(p[i]);
        void *m = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(m, 1, 1 << 16);
        munmap(m, 1 << 16);
    }
    return arg;
}
static void *nothing(void *arg) { return arg; }
static void *makes(void *arg) {
    while (!stop) {
        pthread_t t;
        if (pthread_create(&t, NULL, nothing, NULL) == 0) pthread_join(t, NULL);
    }
    return arg;
}
static void *forks(void *arg) {
    for (int i = 0; i < 12; i++) {
        int want = i + 1, st = 0;
        pid_t p;
        switch (i % 3) {
        case 0:
            p = fork();
            if (p == 0) {
                char *q = malloc(5000);
                memset(q, 1, 5000);
                free(q);
                pthread_t t;
                pthread_create(&t, NULL, nothing, NULL);
                pthread_join(t, NULL);
                _exit(want);
            }
            break;
        case 1:
            p = vfork();
            if (p == 0) _exit(want);
            break;
        default: {
            char text[40], *argv[] = {"sh", "-c", text, NULL};
            sprintf(text, "exit %d", want);
            if (posix_spawn(&p, "/bin/sh", NULL, NULL, argv, NULL)) wrong++;
        }
        }
        if (waitpid(p, &st, 0) != p || WEXITSTATUS(st) != want) wrong++;
    }
    return arg;
}
int main(void) {
    pthread_t w[3], f[2];
    for (int i = 0; i < 2; i++) pthread_create(&w[i], NULL, allocates, NULL);
    pthread_create(&w[2], NULL, makes, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&f[i], NULL, forks, NULL);
    for (int i = 0; i < 2; i++) pthread_join(f[i], NULL);
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(w[i], NULL);
    printf("wrong %d\n", wrong);
    return 0;
}

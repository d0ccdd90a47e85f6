/* ends HOW [ARG]: one way to live or to die. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static volatile unsigned long counter;

static void on_int(int sig) {
    printf("handler of %d\n", sig);
    fflush(stdout);
    exit(42);
}

static void *spin(void *arg) {
    for (;;) counter++;
    return arg;
}

static void *spin_not(void *arg) {
    pause();
    return arg;
}

static int deeper(int depth) {
    volatile char frame[1 << 16];
    frame[0] = 1;
    return depth < 0 ? depth : deeper(depth + 1) + frame[0];
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(how, "exit")) return n;
    if (!strcmp(how, "signal")) raise(n);
    if (!strcmp(how, "fault")) return *(volatile int *)8;
    if (!strcmp(how, "deeper")) return deeper(n);
    if (!strcmp(how, "leak")) {
        memset(malloc(100), 1, 100);
        how = "sleep";
    }
    if (!strcmp(how, "handler")) {
        signal(SIGINT, on_int);
        how = "sleep";
    }
    if (!strcmp(how, "raw")) {
        struct termios t;
        tcgetattr(0, &t);
        cfmakeraw(&t);
        t.c_oflag |= OPOST;
        tcsetattr(0, TCSANOW, &t);
        printf("raw\n");
        fflush(stdout);
        char c = 0;
        read(0, &c, 1);
        printf("got %d\n", c);
        return 0;
    }
    if (!strcmp(how, "leaks")) { /* a search that takes its time at the end */
        static void **all;
        for (int i = 0; i < n; i++) {
            void **block = malloc(sizeof *block * (1 + i % 7));
            block[0] = all;
            all = i % 100 ? block : NULL;
        }
        return 0;
    }
    if (!strcmp(how, "grows")) { /* until there is no memory, then no thread */
        char c;
        pthread_t t;
        int threads = 0;
        void *volatile kept; /* gcc leaves out a block that nobody has, and takes it for there */
        printf("ready\n");
        fflush(stdout);
        read(0, &c, 1);
        for (long size = n << 20; size > 100; size /= 2)
            while ((kept = malloc(size))) {}
        while (threads < 100 && pthread_create(&t, NULL, spin_not, NULL) == 0) threads++;
        return threads < 100 ? 6 : 7;
    }
    if (!strcmp(how, "forks once")) {
        char c;
        printf("ready\n");
        fflush(stdout);
        while (read(0, &c, 1) == 1) {
            pid_t child = fork();
            if (child == 0) _exit(9);
            int status = -1;
            if (child > 0) waitpid(child, &status, 0);
            printf("%d\n", child < 0 ? -1 : WEXITSTATUS(status));
            fflush(stdout);
        }
        return 5;
    }
    if (!strcmp(how, "talks")) { /* an error after each line that comes */
        int c;
        printf("ready\n");
        fflush(stdout);
        while ((c = getchar()) != EOF)
            if (c == '\n') {
                char *volatile p = malloc(8);
                free(p);
                *p = 1;
                free(strdup("talk"));
            }
        return 4;
    }
    if (!strcmp(how, "forks")) {
        for (int i = 0; i < 3; i++)
            if (fork() == 0) break;
        how = "busy";
    }
    printf("ready\n");
    fflush(stdout);
    if (!strcmp(how, "threads")) {
        pthread_t t;
        pthread_create(&t, NULL, spin, NULL);
        how = "sleep";
    }
    if (!strcmp(how, "busy")) spin(NULL);
    if (!strcmp(how, "work")) /* translates, forks, maps, without end */
        for (unsigned i = 0;; i++) {
            free(malloc(100 + i % 100000));
            if (i % 64 == 0) {
                if (fork() == 0) _exit(0);
                wait(NULL);
            }
        }
    while (!strcmp(how, "sleep")) pause();
    if (!strcmp(how, "cat")) {
        char line[100];
        while (fgets(line, sizeof line, stdin)) printf("<%s", line), fflush(stdout);
    }
    return 3;
}

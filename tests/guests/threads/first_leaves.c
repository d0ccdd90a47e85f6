/* The first thread ends, the others go on: fork, signals, names, /proc; the last one's end is the process's. */
// exit: 0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_t first;
static volatile int got;
static void handler(int sig) { got = sig; }
static void *goes_on(void *arg) {
    pthread_join(first, NULL);
    char state = '?', name[17] = "", line[512];
    FILE *f;
    do {
        f = fopen("/proc/self/stat", "r");
        fgets(line, sizeof line, f);
        fclose(f);
        state = *(strrchr(line, ')') + 2);
    } while (state != 'Z');
    printf("first thread: %c\n", state);
    pthread_setname_np(pthread_self(), "the other");
    prctl(PR_GET_NAME, name);
    printf("name %s\n", name);
    f = fopen("/proc/thread-self/comm", "r");
    printf("comm %s", f && fgets(line, sizeof line, f) ? line : "?\n");
    int fd = open("/proc/thread-self/maps", O_RDONLY);
    printf("own maps read %d\n", (int)read(fd, line, sizeof line) > 0);
    close(fd);
    printf("own exe %d\n", readlink("/proc/thread-self/exe", line, sizeof line) > 0);
    signal(SIGUSR1, handler);
    kill(getpid(), SIGUSR1);
    while (!got) {}
    printf("signal %d\n", got == SIGUSR1);
    pid_t p = fork();
    if (p == 0) {
        char *q = malloc(100000);
        memset(q, 1, 100000);
        _exit(getpid() == gettid() ? 7 : 8);
    }
    int st;
    waitpid(p, &st, 0);
    printf("child %d\n", WEXITSTATUS(st));
    printf("popen %d\n", pclose(popen("true", "r")));
    pthread_t t;
    pthread_create(&t, NULL, (void *(*)(void *))strdup, "more");
    void *r;
    pthread_join(t, &r);
    printf("%s\n", (char *)r);
    free(r);
    fflush(stdout);
    return NULL;
}
int main(void) {
    pthread_t t;
    setvbuf(stdout, NULL, _IONBF, 0);
    first = pthread_self();
    pthread_create(&t, NULL, goes_on, NULL);
    pthread_detach(t);
    pthread_exit((void *)9);
}

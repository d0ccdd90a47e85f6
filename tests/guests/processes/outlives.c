/* Children on their parent's memory that write after its end: what they write is theirs, not the parent's. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int maker, up[2], down[2];

static int lives_on(void *arg) {
    const char *name = arg;
    char line[100];
    dprintf(1, "%s: first\n", name);
    write(up[1], "u", 1);
    while (getppid() == maker) usleep(1000);
    read(down[0], line, 1); /* the parent's line comes first */
    dprintf(1, "%s: second\n", name);
    snprintf(line, sizeof line, "%s: third\n", name);
    struct iovec v = {line, strlen(line)};
    if (writev(1, &v, 1) != (ssize_t)v.iov_len) return 1;
    int fd = memfd_create("f", 0);
    char byte = 0;
    if (write(fd, "abc", 3) != 3 || lseek(fd, 1, SEEK_SET) != 1 || read(fd, &byte, 1) != 1 || byte != 'b') return 2;
    return 3;
}

static void makes(const char *name, int flags) {
    char byte;
    char *stack = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    maker = getpid();
    clone(lives_on, stack + (1 << 18), flags | SIGCHLD, (void *)name);
    read(up[0], &byte, 1);
}

/* vfork keeps its caller only: another thread ends the process. */
static void *in_vfork(void *name) {
    maker = getpid();
    if (vfork() == 0) _exit(lives_on(name));
    return NULL;
}

int main(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int how = 0; how < 4; how++) {
        pipe(up);
        pipe(down);
        int status;
        pid_t p = fork();
        if (p == 0) {
            char byte;
            pthread_t t;
            switch (how) {
            case 0: makes("shares memory", CLONE_VM); break;
            case 1: makes("shares files, too", CLONE_VM | CLONE_FILES | CLONE_FS); break;
            case 2: makes("has a copy", 0); break;
            default:
                pthread_create(&t, NULL, in_vfork, "vfork in a thread");
                read(up[0], &byte, 1);
            }
            exit(7);
        }
        waitpid(p, &status, 0);
        dprintf(1, "parent %d\n", WEXITSTATUS(status));
        write(down[1], "d", 1);
        wait(&status);
        dprintf(1, "child %d\n", WEXITSTATUS(status));
        close(up[0]);
        close(up[1]);
        close(down[0]);
        close(down[1]);
    }
    return 0;
}

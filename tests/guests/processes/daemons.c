/* A daemon: two forks, a session, every descriptor closed one by one, output by a file; others that live on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void finish(const char *name, int fd) {
    char text[4096];
    size_t n = 0;
    ssize_t r;
    while ((r = read(fd, text + n, sizeof text - 1 - n)) > 0) n += r;
    text[n] = 0;
    printf("%s: %s", name, text);
    close(fd);
}

static int by_hand(int out, int how) {
    if (fork() != 0) return 1;
    setsid();
    signal(SIGHUP, SIG_IGN);
    if (fork() != 0) _exit(0);
    chdir("/");
    umask(027);
    dup2(out, 1);
    long max = sysconf(_SC_OPEN_MAX);
    for (int fd = 0; how == 0 && fd < (max < 20000 ? max : 20000); fd++)
        if (fd != 1) close(fd);
    if (how == 1) {
        close(0);
        close_range(2, ~0u, 0);
    }
    open("/dev/null", O_RDWR);
    char *p = malloc(1 << 20);
    memset(p, 1, 1 << 20);
    dprintf(1, "leader %d group %d ", getsid(0) == getpid(), getpgrp() == getsid(0));
    pid_t q = fork();
    if (q == 0) _exit(5);
    int st;
    waitpid(q, &st, 0);
    dprintf(1, "child %d\n", WEXITSTATUS(st));
    _exit(0);
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int how = 0; how < 2; how++) {
        int p[2];
        pipe2(p, O_CLOEXEC);
        by_hand(p[1], how);
        close(p[1]);
        wait(NULL);
        finish(how ? "close_range" : "one by one", p[0]);
    }
    int p[2];
    pipe(p);
    if (fork() == 0) {
        close(p[0]);
        if (daemon(0, 0)) _exit(1);
        dprintf(p[1], "daemon(3) in %s, descriptor 2 open %d\n", get_current_dir_name(), fcntl(2, F_GETFD) >= 0);
        _exit(0);
    }
    close(p[1]);
    wait(NULL);
    finish("daemon", p[0]);

    /* An orphan writes after its parent is gone; the nearest subreaper gets it. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int is = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &is);
    pipe(p);
    int self = getpid();
    if (fork() == 0) {
        if (fork() == 0) {
            while (getppid() != self) usleep(1000);
            dprintf(p[1], "orphan found\n");
            _exit(44);
        }
        _exit(43);
    }
    close(p[1]);
    int a, b;
    wait(&a);
    finish("subreaper", p[0]);
    wait(&b);
    printf("subreaper %d: %d then %d\n", is, WEXITSTATUS(a), WEXITSTATUS(b));
    return 0;
}

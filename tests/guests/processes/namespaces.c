/* Namespaces of users, processes and mounts, made by clone and by unshare. */
// skip-status: 77
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int status_of(pid_t pid) {
    int st = -1;
    if (waitpid(pid, &st, 0) != pid) return -errno;
    return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}
static void put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) < 0) printf("%s: %s\n", path, strerror(errno));
    close(fd);
}
static void work(const char *name) {
    char *p = malloc(3 << 20);
    memset(p, 1, 3 << 20);
    printf("%s: pid %d ppid %d uid %d gid %d\n", name, getpid() < 10 ? getpid() : 99, getppid() == 0 ? 0 : 99, getuid(), getgid());
    pid_t p2 = fork();
    if (p2 == 0) _exit(getpid() < 10 ? getpid() : 99);
    printf("%s: child ended with %d\n", name, status_of(p2));
    p2 = vfork();
    if (p2 == 0) {
        execl("/bin/sh", "sh", "-c", "exit 3", NULL);
        _exit(9);
    }
    printf("%s: exec %d\n", name, status_of(p2));
    free(p);
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    uid_t uid = getuid();
    char map[64];
    pid_t p = fork();
    if (p == 0) _exit(unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) ? 1 : 0);
    if (status_of(p) != 0) {
        printf("no namespaces here\n");
        return 77;
    }
    /* Like unshare -Ur. */
    p = fork();
    if (p == 0) {
        if (unshare(CLONE_NEWUSER)) _exit(1);
        snprintf(map, sizeof map, "0 %d 1", uid);
        put("/proc/self/setgroups", "deny");
        put("/proc/self/uid_map", map);
        put("/proc/self/gid_map", map);
        work("newuser");
        execl("/bin/sh", "sh", "-c", "exit 4", NULL);
        _exit(5);
    }
    printf("newuser %d\n", status_of(p));
    /* Without a mapping: nobody. */
    p = fork();
    if (p == 0) {
        if (unshare(CLONE_NEWUSER)) _exit(1);
        work("unmapped");
        _exit(6);
    }
    printf("unmapped %d\n", status_of(p));
    p = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    if (p == 0) {
        work("clone newpid");
        _exit(7);
    }
    printf("clone newpid %d\n", status_of(p));
    p = fork();
    if (p == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID)) _exit(1);
        pid_t q = fork();
        if (q == 0) {
            work("unshare newpid");
            _exit(8);
        }
        printf("inner %d\n", status_of(q));
        _exit(9);
    }
    printf("unshare newpid %d\n", status_of(p));
    p = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);
    if (p == 0) {
        work("the others");
        _exit(10);
    }
    printf("the others %d\n", status_of(p));
    return 0;
}

// files of a noexec mount: not mapped executable, not made so
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <unistd.h>

static void map(const char *what, int fd, int prot, int flags) {
    errno = 0;
    char *p = mmap(NULL, 4096, prot, flags, fd, 0);
    printf("%s: %s", what, strerror(errno));
    if (p != MAP_FAILED) {
        errno = 0;
        int r = mprotect(p, 4096, PROT_READ | PROT_EXEC);
        printf(", made executable %d %s", r, strerror(errno));
    }
    printf("\n");
}

int main(void) {
    if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/tmp", "tmpfs", MS_NOEXEC, NULL) != 0) {
        printf("no mounts here\n");
        return 0;
    }
    int fd = open("/tmp/file", O_RDWR | O_CREAT, 0700);
    if (write(fd, "\xc3", 1) != 1) return 1;
    map("private", fd, PROT_READ, MAP_PRIVATE);
    map("shared", fd, PROT_READ | PROT_WRITE, MAP_SHARED);
    map("executable", fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);
    map("shared executable", fd, PROT_READ | PROT_EXEC, MAP_SHARED);
    personality(READ_IMPLIES_EXEC);
    map("implied", fd, PROT_READ, MAP_PRIVATE);
    int libc = open("/proc/self/exe", O_RDONLY);
    map("elsewhere", libc, PROT_READ, MAP_PRIVATE);
    return 0;
}

/* Every descriptor closed; dup2 onto high numbers; close_range; limits. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static int listed(void) {
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    int n = 0;
    while ((e = readdir(d))) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}
int main(void) {
    printf("listed %d\n", listed());
    int open_ones = 0;
    struct stat st;
    for (int i = 0; i < 20000; i++) {
        open_ones += fstat(i, &st) == 0 || fstatat(i, "", &st, AT_EMPTY_PATH) == 0;
        if (i > 2) open_ones += lseek(i, 0, SEEK_CUR) >= 0 || errno != EBADF;
    }
    printf("open %d\n", open_ones);
    int other = 0; /* calls that look at another argument before the descriptor */
    for (int i = 3; i < 20000; i++) {
        other += syscall(SYS_flock, i, 77) == 0 || errno != EINVAL;
        other += syscall(SYS_signalfd4, i, &st, 7L, 0) == 0 || errno != EINVAL;
        other += syscall(SYS_fremovexattr, i, NULL) == 0 || errno != EFAULT;
        other += syscall(SYS_faccessat2, i, "f", -1, 0) == 0 || errno != EINVAL;
    }
    printf("another error %d\n", other);
    int out = dup(1);
    struct rlimit rl;
    getrlimit(RLIMIT_NOFILE, &rl);
    int bad = 0;
    for (int i = 3; i < (rl.rlim_cur > 5000 ? 5000 : (int)rl.rlim_cur); i++)
        if (i != out && close(i) == 0) bad++;
    printf("closed %d\n", bad);
    printf("next %d\n", open("/dev/null", O_RDONLY) == 3 || out == 3);
    int top = rl.rlim_cur > 4096 ? 4095 : (int)rl.rlim_cur - 1;
    int ok = 0;
    for (int i = 0; i < 8; i++)
        if (dup2(out, top - i) == top - i) ok++;
    printf("high %d", ok);
    ok = 0;
    for (int i = 0; i < 8; i++) ok += write(top - i, "", 0) == 0;
    printf(" %d\n", ok);
    printf("close_range %ld listed %d\n", syscall(SYS_close_range, 3, ~0U, 0), listed());
    printf("bad %d %s\n", close(777), strerror(errno));
    system("echo still runs");
    return 0;
}

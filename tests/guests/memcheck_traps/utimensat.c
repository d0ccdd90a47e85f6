/* Seconds beside UTIME_NOW and UTIME_OMIT are not looked at (tar). */
/* @expect: Syscall param utimensat(times[0].tv_sec) points to uninitialised byte(s)
 * @expect: Syscall param utimensat(times[0].tv_nsec) points to uninitialised byte(s)
 * @expect: Syscall param utimensat(times[1].tv_nsec) points to uninitialised byte(s)
 * @expect: Syscall param utimensat(times[1].tv_sec) points to uninitialised byte(s) */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

int main(void) {
    struct timespec *t = malloc(2 * sizeof *t), *u = malloc(2 * sizeof *u);
    t[0].tv_nsec = UTIME_OMIT;
    t[1].tv_nsec = UTIME_NOW;
    utimensat(AT_FDCWD, "/nonexistent", t, 0);
    t[0].tv_nsec = 5;
    utimensat(AT_FDCWD, "/nonexistent", t, 0);
    u[0].tv_sec = 1;
    utimensat(AT_FDCWD, "/nonexistent", u, 0);
    free(t);
    free(u);
    return 0;
}

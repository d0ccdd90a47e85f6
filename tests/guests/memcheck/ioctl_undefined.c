/* ioctl() and other calls with structures: undefined on the way in, defined on the way out. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    int fds[2], n, r = 0;
    struct stat st;
    struct timespec ts, *req = malloc(sizeof *req);
    if (pipe(fds) || write(fds[1], "abc", 3) != 3)
        return 1;
    ioctl(fds[0], FIONREAD, &n);
    if (n != 3)
        r++;
    ioctl(fds[0], 0, &n); /* no warning: so a descriptor is probed */
    if (fstat(fds[0], &st) || !S_ISFIFO(st.st_mode))
        r++;
    if (clock_gettime(CLOCK_REALTIME, &ts) || ts.tv_sec < 1000)
        r++;
    req->tv_sec = 0;
    req->tv_nsec &= 1;
    nanosleep(req, NULL);
    free(req);
    return r;
}

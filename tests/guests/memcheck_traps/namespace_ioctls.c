/* ioctls of pidfds and namespaces whose argument is none, or a number: no address, and not unknown. */
// flags: --track-fds=yes
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    for (unsigned long request = 0xff01; request <= 0xff0a; request++) {
        int space = ioctl(pidfd, request, 0); /* PIDFD_GET_*_NAMESPACE, Linux 6.11 */
        if (space >= 0) close(space);
    }
    int pids = open("/proc/self/ns/pid", O_RDONLY);
    for (unsigned long request = 0x8004b706; request <= 0x8004b709; request++) /* NS_GET_PID_FROM_PIDNS ... */
        ioctl(pids, request, (long)getpid());
    int mounts = open("/proc/self/ns/mnt", O_RDONLY), next = -1;
    struct {
        unsigned size, count;
        unsigned long id;
    } info;
    if (ioctl(mounts, 0x8010b70a, &info) == 0 && info.count == 0) puts("no mount");
    next = ioctl(mounts, 0x8010b70b, &info); /* NS_MNT_GET_NEXT makes a descriptor */
    if (next >= 0) close(next);
    close(mounts), close(pids), close(pidfd);
    puts("done");
    return 0;
}

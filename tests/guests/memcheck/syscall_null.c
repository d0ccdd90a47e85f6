/* Null pointers as arguments of system calls: reported where memory is meant, not where null means that there is none. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define CALL(name, ...) syscall(SYS_##name, ##__VA_ARGS__)

static long mask[16], ten[128];

static void needed(int file, int sock) {
    CALL(write, file, 0, 8);
    CALL(read, file, 0, 8);
    CALL(pwrite64, file, 0, 8, 0);
    CALL(pread64, file, 0, 8, 0);
    CALL(fstat, file, 0);
    CALL(stat, 0, 0);
    CALL(lstat, "/", 0);
    CALL(statx, 0, "/", 0, 0xfff, 0);
    CALL(open, 0, O_RDONLY, 0);
    CALL(openat, AT_FDCWD, 0, O_RDONLY, 0);
    CALL(creat, 0, 0);
    CALL(access, 0, 0);
    CALL(unlink, 0);
    CALL(rename, 0, 0);
    CALL(readlink, "/proc/self/exe", 0, 8);
    CALL(getcwd, 0, 8);
    CALL(chdir, 0);
    CALL(mkdir, 0, 0);
    CALL(clock_gettime, 0, 0);
    CALL(clock_settime, 77, 0);
    CALL(nanosleep, 0, 0);
    CALL(clock_nanosleep, 0, 0, 0, 0);
    CALL(getrusage, 0, 0);
    CALL(getrlimit, 0, 0);
    CALL(setrlimit, 0, 0);
    CALL(getitimer, 0, 0);
    CALL(uname, 0);
    CALL(sysinfo, 0);
    CALL(statfs, "/", 0);
    CALL(fstatfs, file, 0);
    CALL(pipe, 0);
    CALL(pipe2, 0, 0);
    CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, 0);
    CALL(sendto, sock, 0, 8, 0, 0, 0);
    CALL(recvfrom, sock, 0, 8, MSG_DONTWAIT, 0, 0);
    CALL(connect, sock, 0, 16);
    CALL(bind, sock, 0, 16);
    CALL(setsockopt, sock, SOL_SOCKET, SO_REUSEADDR, 0, 4);
    CALL(getsockopt, sock, SOL_SOCKET, SO_ERROR, 0, 0);
    CALL(getsockname, sock, 0, 0);
    CALL(epoll_wait, -1, 0, 4, 0);
    CALL(poll, 0, 1, 0);
    CALL(getdents64, file, 0, 64);
    CALL(rt_sigpending, 0, 8);
    CALL(rt_sigsuspend, 0, 8);
    CALL(sched_getaffinity, 0, 8, 0);
    CALL(sched_setaffinity, 0, 8, 0);
    CALL(sched_getparam, 0, 0);
    CALL(getresuid, 0, 0, 0);
    CALL(memfd_create, 0, 0);
    CALL(readv, file, 0, 1);
    CALL(writev, file, 0, 1);
    struct iovec none = {0, 8};
    CALL(readv, file, &none, 1);
    CALL(writev, file, &none, 1);
    CALL(preadv, file, &none, 1, 0, 0);
    struct msghdr empty = {.msg_iov = &none, .msg_iovlen = 1};
    CALL(sendmsg, sock, &empty, 0);
    CALL(recvmsg, sock, &empty, MSG_DONTWAIT);
    CALL(sendmsg, sock, 0, 0);
    CALL(recvmsg, sock, 0, MSG_DONTWAIT);
    char *strings[] = {(char *)8, 0};
    CALL(execve, 0, strings, strings);
    CALL(getxattr, "/", "user.none", 0, 8);
    CALL(getgroups, 1, 0);
    CALL(setgroups, 1, 0);
    char *second[] = {"a", (char *)8, 0};
    CALL(execve, "/nowhere/at/all", second, second);
    CALL(execve, "/nowhere/at/all", 0, 0);
    CALL(execveat, AT_FDCWD, "/nowhere/at/all", 0, 0, 0);
    CALL(setitimer, 7, 0, 8);
    CALL(setitimer, 7, 8, 0);
    struct iovec several[] = {{"a", 1}, {0, 8}, {0, 8}};
    CALL(pwritev, file, several, 3, 0, 0);
    CALL(preadv2, file, several + 1, 2, 0, 0, 0);
    CALL(process_vm_readv, 0, several + 1, 1, several, 1, 0);
    CALL(prlimit64, 0, 7, 0, 0);
}

static void optional(int file, int sock) {
    long zero[2] = {0, 0};
    CALL(getgroups, 0, 0);
    CALL(gettimeofday, 0, 0);
    CALL(time, 0);
    CALL(times, 0);
    CALL(select, 0, 0, 0, 0, zero);
    CALL(pselect6, 0, 0, 0, 0, zero, 0);
    CALL(poll, 0, 0, 0);
    CALL(ppoll, 0, 0, zero, 0, 8);
    CALL(wait4, -1, 0, 1, 0);
    CALL(rt_sigaction, 10, 0, 0, 8);
    CALL(rt_sigprocmask, 0, 0, 0, 8);
    CALL(rt_sigtimedwait, mask, 0, zero, 8);
    CALL(sigaltstack, 0, 0);
    CALL(setitimer, 0, 0, 0);
    CALL(nanosleep, zero, 0);
    CALL(clock_nanosleep, 0, 0, zero, 0);
    CALL(clock_getres, 0, 0);
    CALL(accept, sock, 0, 0);
    CALL(accept4, sock, 0, 0, 0);
    CALL(recvfrom, sock, ten, 8, MSG_DONTWAIT, 0, 0);
    CALL(sendto, sock, ten, 8, MSG_DONTWAIT, 0, 0);
    CALL(setsockopt, sock, SOL_SOCKET, SO_REUSEADDR, 0, 0);
    CALL(sendfile, file, file, 0, 8);
    CALL(splice, file, 0, file, 0, 8, 0);
    CALL(copy_file_range, file, 0, file, 0, 8, 0);
    CALL(utimensat, file, 0, 0, 0);
    CALL(utime, "/nowhere/at/all", 0);
    CALL(utimes, "/nowhere/at/all", 0);
    CALL(futimesat, AT_FDCWD, "/nowhere/at/all", 0);
    CALL(epoll_pwait, -1, ten, 4, 0, 0, 8);
    CALL(epoll_ctl, -1, EPOLL_CTL_DEL, file, 0);
    CALL(write, file, 0, 0);
    CALL(read, file, 0, 0);
    CALL(getxattr, "/", "user.none", 0, 0);
    CALL(listxattr, "/", 0, 0);
    CALL(getcpu, 0, 0, 0);
    CALL(capget, mask, 0);
    CALL(prlimit64, 0, 7, 0, ten);
    CALL(getrandom, 0, 0, 0);
    CALL(timer_create, 77, 0, ten);
    CALL(mq_open, "/interpose-none", 0, 0, 0);
    CALL(futex, mask, 1, 1, 0, 0, 0);
    CALL(set_robust_list, 0, 24);
    CALL(readv, file, 0, 0);
    char *strings[] = {"a", 0};
    CALL(execve, "/nowhere/at/all", strings, 0);
    struct msghdr empty = {0};
    CALL(sendmsg, sock, &empty, MSG_DONTWAIT);
    CALL(recvmsg, sock, &empty, MSG_DONTWAIT);
    struct iovec none = {0, 0};
    CALL(writev, file, &none, 1);
    CALL(statx, 0, 0, 0, 0xfff, 0);
}

int main(void) {
    int file = open("/dev/null", O_RDWR), sock = socket(AF_UNIX, SOCK_STREAM, 0);
    needed(file, sock);
    optional(file, sock);
    return 0;
}

/* Which bytes a system call has written, and which are defined after it.
 *
 * Each case prepares an area four times, filled with one of two patterns, and makes its call.  What differs from the
 * pattern in one of the runs was written by the kernel: exactly these bytes must be defined, of those that were
 * undefined before.  (Twice would do but for bytes of clocks, which are what the pattern is now and then.)  A line for each case where this does not hold; with an argument, a line for each call made and its result.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "valgrind/memcheck.h"

enum { SIZE = 16384 };
static unsigned char *b; /* the area; b + 4096 and so on are further buffers */
static char *folder;
static int pattern; /* of the area */
static int file, tcp, un[2], udp, listener, master, slave;
#define S syscall
#define THEN(call, after) ({ long r_ = call; int e_ = errno; after; errno = e_; r_; })
#define AT(type, offset) (*(type *)(b + (offset)))
#define P(offset)        (b + (offset))

static void unfill(void *p, unsigned n) {
    memset(p, pattern, n);
    VALGRIND_MAKE_MEM_UNDEFINED(p, n);
}

static int opened(const char *text) {
    int fd = memfd_create("x", 0);
    write(fd, text, strlen(text));
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static int child(int how) {
    int pid = fork();
    if (pid == 0) how ? kill(getpid(), SIGTERM), 0 : _exit(7);
    return pid;
}

static int drains(int fd) {
    char room[1024];
    return read(fd, room, sizeof room);
}

static int sends(int fd, const char *text) { return send(fd, text, strlen(text), 0); }

static int with_rights(void) {
    char control[CMSG_SPACE(2 * sizeof(int))] = {0};
    struct iovec v = {"hello", 5};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(c), (int[]){0, 1}, 8);
    return sendmsg(un[0], &m, 0);
}

static void reaches(void) { /* a datagram to udp */
    struct sockaddr_in to;
    socklen_t n = sizeof to;
    getsockname(udp, (void *)&to, &n);
    sendto(udp, "datagram", 8, 0, (void *)&to, n);
}

#define IOV(at, base, len) AT(struct iovec, at) = (struct iovec){base, len}
#define CASES(C)                                                                                                       \
    C(read, lseek(file, 0, 0), S(SYS_read, file, b, 100))                                                              \
    C(read_short, lseek(file, 0, 0), S(SYS_read, file, b, 8000))                                                       \
    C(pread64, 0, S(SYS_pread64, file, b, 50, 3))                                                                      \
    C(readv, (lseek(file, 0, 0), IOV(0, P(100), 7), IOV(16, P(300), 3), IOV(32, P(400), 4000)),                        \
      S(SYS_readv, file, b, 3))                                                                                        \
    C(preadv, (IOV(0, P(100), 7), IOV(16, P(300), 3000)), S(SYS_preadv, file, b, 2, 1, 0))                             \
    C(preadv2, (IOV(0, P(100), 7), IOV(16, P(300), 3000)), S(SYS_preadv2, file, b, 2, 1, 0, 0))                        \
    C(stat, 0, S(SYS_stat, "/etc/passwd", b))                                                                          \
    C(lstat, 0, S(SYS_lstat, "/etc/passwd", b))                                                                        \
    C(fstat, 0, S(SYS_fstat, file, b))                                                                                 \
    C(newfstatat, 0, S(SYS_newfstatat, AT_FDCWD, "/etc/passwd", b, 0))                                                 \
    C(statx, 0, S(SYS_statx, AT_FDCWD, "/etc/passwd", 0, 0xfff, b))                                                    \
    C(statx_few, 0, S(SYS_statx, AT_FDCWD, "/etc/passwd", 0, 1, b))                                                    \
    C(poll, (AT(int, 0) = file, AT(short, 4) = POLLIN, AT(int, 8) = un[0], AT(short, 12) = POLLIN),                    \
      S(SYS_poll, b, 2, 0))                                                                                            \
    C(ppoll, (AT(int, 0) = file, AT(short, 4) = POLLIN, AT(struct timespec, 64) = (struct timespec){0, 1000}),         \
      S(SYS_ppoll, b, 1, P(64), 0, 8))                                                                                 \
    C(select, (memset(b, 0, 128), memset(P(512), 0, 128), FD_SET(file, (fd_set *)b)),                                  \
      S(SYS_select, file + 1, b, P(512), 0, 0))                                                                        \
    C(rt_sigaction, 0, S(SYS_rt_sigaction, SIGUSR1, 0, b, 8))                                                          \
    C(rt_sigprocmask, 0, S(SYS_rt_sigprocmask, SIG_BLOCK, 0, b, 8))                                                    \
    C(rt_sigpending, 0, S(SYS_rt_sigpending, b, 8))                                                                    \
    C(rt_sigtimedwait, (AT(uint64_t, 512) = 1ull << (SIGRTMIN + 3), raise(SIGRTMIN + 4)),                              \
      S(SYS_rt_sigtimedwait, P(512), b, 0, 8))                                                                         \
    C(rt_sigtimedwait_child, (AT(uint64_t, 512) = 1ull << (SIGCHLD - 1), ended = child(0)),                            \
      THEN((S(SYS_rt_sigtimedwait, P(512), b, 0, 8) == SIGCHLD), waitpid(ended, 0, 0)))                                 \
    C(sigaltstack, 0, S(SYS_sigaltstack, 0, b))                                                                        \
    C(ioctl_FIONREAD, 0, ioctl(un[0], FIONREAD, b))                                                                    \
    C(ioctl_TCGETS, 0, S(SYS_ioctl, slave, TCGETS, b))                                                                 \
    C(ioctl_TIOCGWINSZ, 0, S(SYS_ioctl, slave, TIOCGWINSZ, b))                                                         \
    C(ioctl_TIOCGPTN, 0, S(SYS_ioctl, master, TIOCGPTN, b))                                                            \
    C(ioctl_SIOCGIFCONF, (AT(struct ifconf, 0) = (struct ifconf){.ifc_len = 400, .ifc_buf = (void *)P(512)}),          \
      ioctl(udp, SIOCGIFCONF, b))                                                                                      \
    C(ioctl_SIOCGIFFLAGS, strcpy((char *)b, "lo"), ioctl(udp, SIOCGIFFLAGS, b))                                        \
    C(ioctl_SIOCGIFADDR, strcpy((char *)b, "lo"), ioctl(udp, SIOCGIFADDR, b))                                          \
    C(pipe, 0, THEN(S(SYS_pipe, b), closes(2)))                                                                             \
    C(pipe2, 0, THEN(S(SYS_pipe2, b, O_CLOEXEC), closes(2)))                                                                \
    C(getitimer, 0, S(SYS_getitimer, ITIMER_REAL, b))                                                                  \
    C(setitimer, memset(P(512), 0, 32), S(SYS_setitimer, ITIMER_REAL, P(512), b))                                      \
    C(sendfile, AT(off_t, 0) = 2, S(SYS_sendfile, un[0], file, b, 5))                                                  \
    C(accept, (AT(int, 512) = 200, connects()), taken(S(SYS_accept, listener, b, P(512))))                             \
    C(accept_short, (AT(int, 512) = 5, connects()), taken(S(SYS_accept, listener, b, P(512))))                         \
    C(accept4, (AT(int, 512) = 200, connects()), taken(S(SYS_accept4, listener, b, P(512), SOCK_CLOEXEC)))             \
    C(recvfrom, (AT(int, 512) = 100, reaches()), S(SYS_recvfrom, udp, P(1024), 100, 0, b, P(512)))                   \
    C(recvfrom_short, (AT(int, 512) = 3, reaches()), S(SYS_recvfrom, udp, P(1024), 4, 0, b, P(512)))                 \
    C(recvfrom_trunc, (AT(int, 512) = 30, reaches()), S(SYS_recvfrom, udp, P(1024), 4, MSG_TRUNC, b, P(512)))        \
    C(recvmsg, (message(udp), reaches()), S(SYS_recvmsg, udp, b, 0))                                                 \
    C(recvmsg_trunc, (message(udp), reaches()), S(SYS_recvmsg, udp, b, MSG_TRUNC))                                   \
    C(recvmsg_rights, (message(0), with_rights()), THEN(S(SYS_recvmsg, un[1], b, 0), closes_rights()))                      \
    C(recvmmsg, (messages(), reaches(), reaches()), S(SYS_recvmmsg, udp, b, 3, MSG_DONTWAIT, 0))                   \
    C(getsockname, AT(int, 512) = 100, S(SYS_getsockname, udp, b, P(512)))                                             \
    C(getsockname_short, AT(int, 512) = 3, S(SYS_getsockname, udp, b, P(512)))                                         \
    C(getsockname_unix, AT(int, 512) = 110, S(SYS_getsockname, un[0], b, P(512)))                                      \
    C(getpeername, AT(int, 512) = 100, S(SYS_getpeername, tcp, b, P(512)))                                             \
    C(socketpair, 0, THEN(S(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, b), closes(2)))                                        \
    C(getsockopt_TYPE, AT(int, 512) = 4, S(SYS_getsockopt, udp, SOL_SOCKET, SO_TYPE, b, P(512)))                       \
    C(getsockopt_long, AT(int, 512) = 40, S(SYS_getsockopt, udp, SOL_SOCKET, SO_TYPE, b, P(512)))                      \
    C(getsockopt_short, AT(int, 512) = 2, S(SYS_getsockopt, udp, SOL_SOCKET, SO_TYPE, b, P(512)))                      \
    C(getsockopt_LINGER, AT(int, 512) = 40, S(SYS_getsockopt, tcp, SOL_SOCKET, SO_LINGER, b, P(512)))                  \
    C(getsockopt_TCP_INFO, AT(int, 512) = 1000, S(SYS_getsockopt, tcp, IPPROTO_TCP, TCP_INFO, b, P(512)))              \
    C(getsockopt_PEERCRED, AT(int, 512) = 12, S(SYS_getsockopt, un[0], SOL_SOCKET, SO_PEERCRED, b, P(512)))            \
    C(wait4, ended = child(0), S(SYS_wait4, ended, b, 0, P(512)))                                                      \
    C(waitid, ended = child(1), S(SYS_waitid, P_PID, ended, b, WEXITED, P(512)))                                       \
    C(waitid_none, ended = child(0),                                                                                   \
      THEN(S(SYS_waitid, P_PID, ended, b, WSTOPPED | WNOHANG, P(512)), waitpid(ended, 0, 0)))                           \
    C(uname, 0, S(SYS_uname, b))                                                                                       \
    C(shmctl_STAT, shm = shmget(IPC_PRIVATE, 100, 0600), THEN(S(SYS_shmctl, shm, IPC_STAT, b), shmctl(shm, IPC_RMID, 0))) \
    C(shmctl_IPC_INFO, 0, S(SYS_shmctl, 0, IPC_INFO, b))                                                               \
    C(shmctl_SHM_INFO, 0, S(SYS_shmctl, 0, SHM_INFO, b))                                                               \
    C(semctl_STAT, sem = semget(IPC_PRIVATE, 3, 0600), THEN(S(SYS_semctl, sem, 0, IPC_STAT, b), semctl(sem, 0, IPC_RMID))) \
    C(semctl_GETALL, sem = semget(IPC_PRIVATE, 3, 0600), THEN(S(SYS_semctl, sem, 0, GETALL, b), semctl(sem, 0, IPC_RMID))) \
    C(semctl_INFO, 0, S(SYS_semctl, 0, 0, IPC_INFO, b))                                                                \
    C(msgctl_STAT, q = msgget(IPC_PRIVATE, 0600), THEN(S(SYS_msgctl, q, IPC_STAT, b), msgctl(q, IPC_RMID, 0)))          \
    C(msgctl_INFO, 0, S(SYS_msgctl, 0, IPC_INFO, b))                                                                   \
    C(msgrcv, (q = msgget(IPC_PRIVATE, 0600), msgsnd(q, (void *)"\1\0\0\0\0\0\0\0text", 4, 0)),                        \
      THEN(S(SYS_msgrcv, q, b, 100, 0, 0), msgctl(q, IPC_RMID, 0)))                                                     \
    C(fcntl_GETLK, (AT(struct flock, 0) = (struct flock){.l_type = F_WRLCK}), S(SYS_fcntl, file, F_GETLK, b))          \
    C(fcntl_GETOWN_EX, 0, S(SYS_fcntl, un[0], F_GETOWN_EX, b))                                                         \
    C(fcntl_GET_RW_HINT, 0, S(SYS_fcntl, file, F_GET_RW_HINT, b))                                                      \
    C(getdents, lseek(dir, 0, 0), S(SYS_getdents, dir, b, 400))                                                        \
    C(getdents64, lseek(dir, 0, 0), S(SYS_getdents64, dir, b, 400))                                                    \
    C(getcwd, 0, S(SYS_getcwd, b, 500))                                                                                \
    C(readlink, 0, S(SYS_readlink, "/proc/self/exe", b, 500))                                                          \
    C(readlink_short, 0, S(SYS_readlink, "/proc/self/exe", b, 3))                                                      \
    C(readlinkat, 0, S(SYS_readlinkat, AT_FDCWD, "/proc/self/cwd", b, 500))                                            \
    C(gettimeofday, 0, S(SYS_gettimeofday, b, P(512)))                                                                 \
    C(time, 0, S(SYS_time, b))                                                                                         \
    C(getrlimit, 0, S(SYS_getrlimit, RLIMIT_STACK, b))                                                                 \
    C(prlimit64, 0, S(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, b))                                                          \
    C(getrusage, 0, S(SYS_getrusage, RUSAGE_SELF, b))                                                                  \
    C(sysinfo, 0, S(SYS_sysinfo, b))                                                                                   \
    C(times, 0, S(SYS_times, b))                                                                                       \
    C(getgroups, setgroups_some(), S(SYS_getgroups, 100, b))                                                           \
    C(getresuid, 0, S(SYS_getresuid, b, P(512), P(1024)))                                                              \
    C(getresgid, 0, S(SYS_getresgid, b, P(512), P(1024)))                                                              \
    C(capget, (AT(uint32_t, 512) = _LINUX_CAPABILITY_VERSION_3, AT(int, 516) = 0), S(SYS_capget, P(512), b))           \
    C(capget_1, (AT(uint32_t, 512) = _LINUX_CAPABILITY_VERSION_1, AT(int, 516) = 0), S(SYS_capget, P(512), b))         \
    C(statfs, 0, S(SYS_statfs, "/", b))                                                                                \
    C(fstatfs, 0, S(SYS_fstatfs, file, b))                                                                             \
    C(sched_getparam, 0, S(SYS_sched_getparam, 0, b))                                                                  \
    C(sched_getattr, 0, S(SYS_sched_getattr, 0, b, 100, 0))                                                            \
    C(sched_getattr_short, 0, S(SYS_sched_getattr, 0, b, 48, 0))                                                       \
    C(sched_rr_get_interval, 0, S(SYS_sched_rr_get_interval, 0, b))                                                    \
    C(sched_getaffinity, 0, S(SYS_sched_getaffinity, 0, 1024, b))                                                      \
    C(prctl_GET_NAME, 0, S(SYS_prctl, PR_GET_NAME, b))                                                                 \
    C(prctl_GET_PDEATHSIG, 0, S(SYS_prctl, PR_GET_PDEATHSIG, b))                                                       \
    C(prctl_GET_TSC, 0, S(SYS_prctl, PR_GET_TSC, b))                                                                   \
    C(prctl_GET_CHILD_SUBREAPER, 0, S(SYS_prctl, PR_GET_CHILD_SUBREAPER, b))                                           \
    C(prctl_GET_TID_ADDRESS, 0, S(SYS_prctl, PR_GET_TID_ADDRESS, b))                                                   \
    C(arch_prctl, 0, S(SYS_arch_prctl, ARCH_GET_FS, b))                                                                \
    C(arch_prctl_GS, 0, S(SYS_arch_prctl, ARCH_GET_GS, b))                                                             \
    C(getxattr, 0, S(SYS_getxattr, named, "user.x", b, 100))                                                           \
    C(lgetxattr, 0, S(SYS_lgetxattr, named, "user.x", b, 100))                                                         \
    C(fgetxattr, 0, S(SYS_fgetxattr, file2, "user.x", b, 100))                                                         \
    C(listxattr, 0, S(SYS_listxattr, named, b, 100))                                                                   \
    C(flistxattr, 0, S(SYS_flistxattr, file2, b, 100))                                                                 \
    C(io_setup, AT(uint64_t, 0) = 0, THEN(S(SYS_io_setup, 10, b), destroys()))                                              \
    C(io_getevents, aio_read(), S(SYS_io_getevents, aio, 1, 10, b, 0))                                                 \
    C(timer_create, 0, S(SYS_timer_create, CLOCK_MONOTONIC, 0, b))                                                     \
    C(timer_gettime, 0, S(SYS_timer_gettime, timer, b))                                                                \
    C(timer_settime, memset(P(512), 0, 32), S(SYS_timer_settime, timer, 0, P(512), b))                                 \
    C(clock_gettime, 0, S(SYS_clock_gettime, CLOCK_MONOTONIC, b))                                                      \
    C(clock_getres, 0, S(SYS_clock_getres, CLOCK_MONOTONIC, b))                                                        \
    C(adjtimex, AT(int, 0) = 0, S(SYS_adjtimex, b) >= 0)                                                               \
    C(clock_adjtime, AT(int, 0) = 0, S(SYS_clock_adjtime, CLOCK_REALTIME, b) >= 0)                                     \
    C(epoll_wait, 0, S(SYS_epoll_wait, ep, b, 10, 0))                                                                  \
    C(epoll_pwait, 0, S(SYS_epoll_pwait, ep, b, 10, 0, 0, 8))                                                          \
    C(epoll_pwait2, memset(P(1024), 0, 16), S(SYS_epoll_pwait2, ep, b, 10, P(1024), 0, 8))                             \
    C(mq_getsetattr, 0, S(SYS_mq_getsetattr, mq, 0, b))                                                                \
    C(mq_timedreceive, mq_send(mq, "letters", 7, 3), S(SYS_mq_timedreceive, mq, b, 100, P(512), 0))                    \
    C(read_inotify, (unlink(notes), drains(inotify), close(creat(notes, 0600))), S(SYS_read, inotify, b, 200))                                    \
    C(read_signalfd, (drains(sfd), raise(SIGRTMIN + 4)), S(SYS_read, sfd, b, 500))                                                    \
    C(read_timerfd, usleep(2000), S(SYS_read, tfd, b, 100))                                                            \
    C(read_eventfd, eventfd_write(efd, 3), S(SYS_read, efd, b, 100))                                                   \
    C(timerfd_gettime, 0, S(SYS_timerfd_gettime, tfd, b))                                                              \
    C(timerfd_settime, (memset(P(512), 0, 32), AT(long, 520) = 1000000, AT(long, 536) = 1000000),                      \
      S(SYS_timerfd_settime, tfd, 0, P(512), b))                                                                       \
    C(name_to_handle_at, AT(int, 0) = 128, S(SYS_name_to_handle_at, AT_FDCWD, "/etc", b, P(512), 0))                   \
    C(getcpu, 0, S(SYS_getcpu, b, P(512), 0))                                                                          \
    C(process_vm_readv, (IOV(1024, b, 10), IOV(1040, P(512), 300), IOV(1056, (void *)"some text of ours", 16)),        \
      S(SYS_process_vm_readv, getpid(), P(1024), 2, P(1056), 1, 0))                                                    \
    C(getrandom, 0, S(SYS_getrandom, b, 400, 0))                                                                       \
    C(mincore, 0, S(SYS_mincore, page, 3 * 4096, b))                                                                   \
    C(get_mempolicy, 0, S(SYS_get_mempolicy, b, P(512), 1024, 0, 0))                                                   \
    C(move_pages, AT(void *, 1024) = page, S(SYS_move_pages, 0, 1, P(1024), 0, b, 0))                                  \
    C(get_robust_list, 0, S(SYS_get_robust_list, 0, b, P(512)))                                                        \
    C(copy_file_range, (AT(off_t, 0) = 1, AT(off_t, 512) = 2), S(SYS_copy_file_range, file, b, file3, P(512), 4, 0))   \
    C(splice, AT(off_t, 0) = 1, S(SYS_splice, file, b, pipes[1], 0, 4, 0))                                             \
    C(io_uring_setup, memset(b, 0, 120), closes_fd(S(SYS_io_uring_setup, 4, b)))                                       \
    C(cachestat, (AT(uint64_t, 512) = 0, AT(uint64_t, 520) = 100), S(451, file, P(512), b, 0))                         \
    C(modify_ldt, 0, S(SYS_modify_ldt, 0, b, 100) >= 0)                                                                \
    C(sysfs, 0, S(SYS_sysfs, 2, 1, b))                                                                                 \
    C(nanosleep, (AT(struct timespec, 512) = (struct timespec){3, 0}, alarms()),                                       \
      S(SYS_nanosleep, P(512), b) == -1 && errno == EINTR)                                                             \
    C(clock_nanosleep, (AT(struct timespec, 512) = (struct timespec){3, 0}, alarms()),                                 \
      S(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, P(512), b) == -1 && errno == EINTR)                                   \
    C(clone_tids, 0, cloned())                                                                                         \
    C(keyctl_describe, 0, S(SYS_keyctl, 6, -2, b, 300))                                                                \
    C(syslog, 0, S(SYS_syslog, 3, b, 50))                                                                              \
    C(listmount, (memset(P(512), 0, 32), AT(uint32_t, 512) = 24, AT(uint64_t, 520) = ~0ull), S(458, P(512), b, 5, 0))  \
    C(futex_wake, AT(int, 0) = 1, S(SYS_futex, b, 1, 1))                                                               \
    NEWER(C)
#define NEWER(C)                                                                                                       \
    C(seccomp_sizes, 0, S(SYS_seccomp, 3, 0, b))                                                                       \
    C(keyctl_capabilities, 0, S(SYS_keyctl, 31, b, 100, 0, 0))                                                         \
    C(prctl_AUXV, 0, S(SYS_prctl, 0x41555856, b, 2000, 0, 0))                                                          \
    C(prctl_AUXV_short, 0, S(SYS_prctl, 0x41555856, b, 20, 0, 0))                                                      \
    C(prctl_MAP_SIZE, 0, S(SYS_prctl, 35, 15, b, 0, 0))                                                                \
    C(statmount, (memset(P(512), 0, 32), AT(int, 512) = 24, AT(long, 520) = mount_id(), AT(long, 528) = 0x3f),         \
      S(457, P(512), b, 4000, 0))                                                                                      \
    C(getxattrat, (AT(void *, 1024) = b, AT(long, 1032) = 100), S(464, AT_FDCWD, named, 0, "user.x", P(1024), 16))     \
    C(getxattrat_size, (AT(void *, 1024) = b, AT(long, 1032) = 0), S(464, AT_FDCWD, named, 0, "user.x", P(1024), 16))  \
    C(listxattrat, 0, S(465, AT_FDCWD, named, 0, b, 100))                                                              \
    C(file_getattr, 0, S(468, AT_FDCWD, named, b, 24, 0))                                                              \
    C(handle_too_long, AT(int, 0) = 0,                                                                                 \
      S(SYS_name_to_handle_at, AT_FDCWD, "/etc", b, P(512), 0) == -1 && errno == EOVERFLOW)                            \
    C(handle_unique, AT(int, 0) = 128, S(SYS_name_to_handle_at, AT_FDCWD, "/etc", b, P(512), 1))                       \
    C(vmsplice, (write(pipes[1], "abcdef", 6), IOV(1024, b, 3), IOV(1040, P(100), 10)),                                \
      S(SYS_vmsplice, pipes[0], P(1024), 2, 0))                                                                        \
    C(ptrace_signals, (memset(P(4096), 0, 16), AT(int, 4108) = 4), S(SYS_ptrace, 0x4209, tracee, P(4096), b))          \
    C(ptrace_call, 0, S(SYS_ptrace, 0x420e, tracee, 100, b))                                                           \
    C(ptrace_dispatch, 0, S(SYS_ptrace, 0x4211, tracee, 32, b))                                                        \
    C(ptrace_rseq, 0, S(SYS_ptrace, 0x420f, tracee, 32, b))                                                            \
    C(ioctl_GETFLAGS, 0, ioctl(file2, 0x80086601, b))                                                                  \
    C(ioctl_GETVERSION, 0, ioctl(file2, 0x80087601, b))                                                                \
    C(ioctl_FIEMAP, (memset(b, 0, 32), AT(long, 8) = -1, AT(int, 24) = 5), ioctl(file2, 0xc020660b, b))                \
    C(ioctl_FIEMAP_count, (memset(b, 0, 32), AT(long, 8) = -1), ioctl(file2, 0xc020660b, b))                           \
    C(ioctl_PAGEMAP_SCAN, (scans(), unfill(P(32), 8)), ioctl(pagemap, 0xc0606610, b))                                  \
    C(ioctl_UFFDIO_API, (AT(long, 0) = 0xaa, AT(long, 8) = 0), faults_api())                                           \
    C(ioctl_UFFDIO_COPY_there, (memset(b, 0, 32), AT(void *, 0) = page, AT(void *, 8) = page, AT(long, 16) = 4096),    \
      ioctl(faults, 0xc028aa03, b) == -1 && errno == EEXIST)                                                           \
    C(ioctl_SIOCGSKNS, 0, closes_fd(ioctl(udp, 0x894c, b)))                                                            \
    C(ioctl_GLCKTRMIOS, 0, ioctl(slave, 0x5456, b))                                                                    \
    C(ioctl_GSOFTCAR, 0, ioctl(slave, 0x5419, b))                                                                      \
    C(ioctl_BLKROTATIONAL, 0, ioctl(disk, 0x127e, b))                                                                  \
    C(bpf_lookup, (AT(int, 1024) = 1, bpf_map(BPF_MAP_TYPE_ARRAY)), bpf_element(BPF_MAP_LOOKUP_ELEM, b))               \
    C(bpf_lookup_cpus, (AT(int, 1024) = 1, bpf_map(BPF_MAP_TYPE_PERCPU_ARRAY)), bpf_element(BPF_MAP_LOOKUP_ELEM, b))   \
    C(bpf_next_key, (AT(int, 1024) = 1, bpf_map(BPF_MAP_TYPE_ARRAY)), bpf_element(BPF_MAP_GET_NEXT_KEY, b))            \
    C(bpf_batch, bpf_map(BPF_MAP_TYPE_ARRAY), bpf_batch(4))                                                            \
    C(bpf_batch_end, bpf_map(BPF_MAP_TYPE_ARRAY), bpf_batch(7) == -1 && errno == ENOENT)                               \
    C(recvmsg_short, (message(udp), AT(int, 8) = 3, reaches()), S(SYS_recvmsg, udp, b, 0))                             \
    C(recvmsg_no_room, (message(udp), AT(int, 8) = 0, reaches()), S(SYS_recvmsg, udp, b, 0))                           \
    C(recvmmsg_short, (messages(), AT(int, 8) = AT(int, 72) = AT(int, 136) = 3, reaches(), reaches()),                 \
      S(SYS_recvmmsg, udp, b, 3, MSG_DONTWAIT, 0))                                                                     \
    C(recvmsg_controls, (message(udp), stamps(1), reaches()), THEN(S(SYS_recvmsg, udp, b, 0), stamps(0)))              \
    C(wait4_none, ended = sleeper(),                                                                                   \
      THEN(S(SYS_wait4, ended, b, WNOHANG, P(512)), (kill(ended, SIGKILL), waitpid(ended, 0, 0))))                     \
    C(pidfd_info, AT(long, 0) = 7, ioctl(pidfd, 0xc040ff0b, b))                                                        \
    C(kvm_cpuid, (AT(int, 0) = 200, AT(int, 4) = 0), ioctl(kvm, 0xc008ae05, b))                                        \
    C(kvm_msr_indices, AT(int, 0) = 1000, ioctl(kvm, 0xc004ae02, b))                                                   \
    C(kvm_msrs, (AT(int, 0) = 1, AT(long, 8) = 0x10), ioctl(cpu, 0xc008ae88, b))                                       \
    C(kvm_translate, AT(long, 0) = 0x1000, (AT(long, 16) = 0, unfill(P(16), 3), ioctl(cpu, 0xc018ae85, b)))            \
    C(bpf_refused, 0, bpf_program() == -1 && errno == EINVAL)

static int ended, shm, sem, q, dir, ep, mq, inotify, sfd, tfd, efd, file2, file3, pipes[2];
static int pagemap, faults, disk, map, tracee, kvm, cpu, pidfd;
static long timer;
static aio_context_t aio;
static char *page, named[200], notes[200];

static int closes(int n) {
    for (int i = 0; i < n; i++) {
        int fd = AT(int, 4 * i);
        VALGRIND_MAKE_MEM_DEFINED(&fd, 4);
        close(fd);
    }
    return 0;
}
static int closes_fd(int fd) { return fd >= 0 ? close(fd), 1 : -1; }
static int taken(int fd) { return closes_fd(fd); }
static int closes_rights(void) {
    int fd[2];
    memcpy(fd, P(3000 + 16), 8);
    VALGRIND_MAKE_MEM_DEFINED(fd, 8);
    close(fd[0]), close(fd[1]);
    return 0;
}
static int last_connection = -1;
static void connects(void) {
    struct sockaddr_in to;
    socklen_t n = sizeof to;
    if (last_connection >= 0) close(last_connection);
    getsockname(listener, (void *)&to, &n);
    last_connection = socket(AF_INET, SOCK_STREAM, 0);
    connect(last_connection, (void *)&to, n);
}
static void message(int fd) {
    AT(struct iovec, 200) = (struct iovec){P(1024), 3};
    AT(struct iovec, 216) = (struct iovec){P(2048), 300};
    AT(struct msghdr, 0) = (struct msghdr){.msg_name = P(512), .msg_namelen = 100, .msg_iov = (void *)P(200),
                                           .msg_iovlen = 2, .msg_control = P(3000), .msg_controllen = 200};
    unfill(P(offsetof(struct msghdr, msg_flags)), 4);
}
static void messages(void) {
    memset(b, 0, 3 * sizeof(struct mmsghdr));
    for (int i = 0; i < 3; i++) {
        AT(struct iovec, 400 + 16 * i) = (struct iovec){P(1024 + 512 * i), 300};
        AT(struct mmsghdr, i * sizeof(struct mmsghdr)).msg_hdr =
            (struct msghdr){.msg_name = P(4096 + 100 * i), .msg_namelen = 16, .msg_iov = (void *)P(400 + 16 * i), .msg_iovlen = 1};
        unfill(&AT(struct mmsghdr, i * sizeof(struct mmsghdr)).msg_len, 4);
    }
}
static void setgroups_some(void) {
    gid_t groups[] = {1, 2, 3};
    S(SYS_setgroups, 3, groups);
}
static int destroys(void) {
    aio_context_t context = AT(aio_context_t, 0);
    VALGRIND_MAKE_MEM_DEFINED(&context, 8);
    S(SYS_io_destroy, context);
    return 0;
}
static struct iocb control;
static char aio_text[64];
static void aio_read(void) {
    struct iocb *list[] = {&control};
    control = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = file, .aio_buf = (uint64_t)aio_text, .aio_nbytes = 20};
    S(SYS_io_submit, aio, 1, list);
}
static void on_alarm(int sig) {}
static void alarms(void) {
    struct itimerval in = {.it_value = {.tv_usec = 20000}};
    setitimer(ITIMER_REAL, &in, NULL);
}
static int cloned(void) {
    int pid = S(SYS_clone, SIGCHLD | CLONE_PARENT_SETTID, 0, b, 0, 0);
    if (pid == 0) _exit(0);
    waitpid(pid, 0, 0);
    return pid;
}

static long mount_id(void) {
    struct statx x;
    memset(&x, 0, sizeof x);
    S(SYS_statx, AT_FDCWD, "/", 0, 0x4000 /* STATX_MNT_ID_UNIQUE */, &x);
    return ((long *)&x)[0x90 / 8];
}
static void scans(void) {
    uint64_t written = 1 << 3; /* PAGE_IS_PRESENT */
    uint64_t words[] = {96, 0, (uint64_t)page, (uint64_t)page + 3 * 4096, 0, (uint64_t)P(1024), 8, 0, 0, written, 0, written};
    memcpy(b, words, sizeof words);
}
static int sleeper(void) {
    int pid = fork();
    if (pid == 0) pause(), _exit(0);
    return pid;
}
static int stamps(int on) { /* messages of control of 17 and 20 bytes, with padding behind them */
    setsockopt(udp, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
    return setsockopt(udp, IPPROTO_IP, IP_RECVTTL, &on, sizeof on);
}
static int faults_api(void) {
    int fd = S(SYS_userfaultfd, 1), result = ioctl(fd, 0xc018aa3f, b);
    close(fd);
    return result;
}
static int started_tracee(void) { /* with two signals that wait */
    int pid = fork();
    if (pid == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, 0);
        raise(SIGUSR1), raise(SIGUSR2);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        _exit(0);
    }
    waitpid(pid, 0, 0);
    return pid;
}
static int bpf(int command, union bpf_attr a) { return S(SYS_bpf, command, &a, sizeof a); }
static void bpf_map(int type) {
    int key = 1;
    char value[64] = "value";
    if (map > 0) close(map);
    map = bpf(BPF_MAP_CREATE, (union bpf_attr){.map_type = type, .key_size = 4, .value_size = 12, .max_entries = 4});
    bpf(BPF_MAP_UPDATE_ELEM, (union bpf_attr){.map_fd = map, .key = (uint64_t)&key, .value = (uint64_t)value});
}
static int bpf_element(int command, void *to) {
    return bpf(command, (union bpf_attr){.map_fd = map, .key = (uint64_t)P(1024), .value = (uint64_t)to});
}
static int bpf_batch(int most) {
    union bpf_attr a = {.batch = {.map_fd = map, .out_batch = (uint64_t)P(2048), .keys = (uint64_t)b, .values = (uint64_t)P(512), .count = most}};
    return S(SYS_bpf, BPF_MAP_LOOKUP_BATCH, &a, sizeof a);
}
static int bpf_program(void) { /* it has no end */
    struct bpf_insn insn = {.code = 0xb7};
    return bpf(BPF_PROG_LOAD, (union bpf_attr){.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = (uint64_t)&insn, .insn_cnt = 1,
                                               .license = (uint64_t) "GPL", .log_level = 1, .log_buf = (uint64_t)b, .log_size = 4096});
}

#define DEFINE(name, prepare, call)                                                                                    \
    static void prepare_##name(void) { prepare; }                                                                      \
    static long call_##name(void) { return call; }
#define ROW(name, prepare, call) {#name, prepare_##name, call_##name},
CASES(DEFINE)
static const struct {
    const char *name;
    void (*prepare)(void);
    long (*call)(void);
} rows[] = {CASES(ROW)};

static void set_up(void) {
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sigaction sa = {.sa_handler = on_alarm};
    sigset_t set;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.u64 = 0x1234567890};
    struct mq_attr attr = {.mq_maxmsg = 5, .mq_msgsize = 50};
    struct itimerspec soon = {{0, 1000000}, {0, 1000000}};
    file = opened("The quick brown fox jumps over the lazy dog, and then over many others that lie in its way. "
                      "It comes to more than a hundred characters.\n");
    file3 = opened("another one");
    socketpair(AF_UNIX, SOCK_STREAM, 0, un);
    sends(un[1], "waiting");
    udp = socket(AF_INET, SOCK_DGRAM, 0);
    bind(udp, (void *)&any, sizeof any);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (void *)&any, sizeof any);
    listen(listener, 20);
    connects();
    tcp = accept(listener, 0, 0);
    tcp = dup(last_connection);
    openpty(&master, &slave, 0, 0, 0);
    sigaction(SIGALRM, &sa, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 4);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, 0);
    sfd = signalfd(-1, &set, SFD_NONBLOCK);
    efd = eventfd(0, 0);
    tfd = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(tfd, 0, &soon, 0);
    ep = epoll_create1(0);
    epoll_ctl(ep, EPOLL_CTL_ADD, un[0], &event);
    mq = mq_open("/post_sweep", O_RDWR | O_CREAT, 0600, &attr);
    mq_unlink("/post_sweep");
    dir = open("/proc/self/task", O_RDONLY);
    sprintf(named, "%s/named", folder);
    sprintf(notes, "%s/notes", folder);
    file2 = open(named, O_RDWR | O_CREAT, 0600);
    fsetxattr(file2, "user.x", "value", 5, 0);
    inotify = inotify_init1(IN_NONBLOCK);
    inotify_add_watch(inotify, folder, IN_CREATE | IN_CLOSE_WRITE | IN_OPEN);
    page = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 1;
    page[4096] = page[8192] = 1;
    pagemap = open("/proc/self/pagemap", O_RDONLY);
    disk = open("/dev/loop0", O_RDONLY);
    faults = S(SYS_userfaultfd, 1);
    ioctl(faults, 0xc018aa3f, (uint64_t[3]){0xaa});
    ioctl(faults, 0xc020aa00, (uint64_t[4]){(uint64_t)page, 4096, 1});
    tracee = started_tracee();
    pidfd = S(SYS_pidfd_open, getpid(), 0);
    kvm = open("/dev/kvm", O_RDWR);
    cpu = ioctl(ioctl(kvm, 0xae01, 0), 0xae41, 0);
    pipe(pipes);
    write(file2, folder, 10);
    fsync(file2);
    S(SYS_io_setup, 10, &aio);
    S(SYS_timer_create, CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_NONE}, &timer);
}

int main(int argc, char **argv) {
    static unsigned char was[SIZE], now[SIZE];
    static struct {
        char prepared, written, defined;
    } bytes[SIZE];
    folder = argv[1];
    b = malloc(SIZE);
    set_up();
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
        long result = 0;
        int error = 0, missing = 0, surplus = 0, first_missing = -1, first_surplus = -1;
        memset(bytes, 0, sizeof bytes);
        for (int run = 0; run < 4; run++) {
            pattern = run & 1 ? 0xff : 0;
            memset(b, pattern, SIZE);
            VALGRIND_MAKE_MEM_UNDEFINED(b, SIZE);
            rows[k].prepare();
            VALGRIND_GET_VBITS(b, was, SIZE);
            errno = 0;
            result = rows[k].call();
            error = errno;
            VALGRIND_GET_VBITS(b, now, SIZE);
            VALGRIND_MAKE_MEM_DEFINED(b, SIZE);
            for (int i = 0; i < SIZE; i++) {
                bytes[i].prepared |= was[i] != 0xff;
                bytes[i].written |= b[i] != pattern;
                bytes[i].defined |= now[i] == 0;
            }
        }
        if (argc > 2) printf("%s = %ld %s\n", rows[k].name, result, result < 0 ? strerror(error) : "");
        for (int i = 0; i < SIZE; i++) {
            if (bytes[i].prepared) continue;
            if (bytes[i].written && !bytes[i].defined && missing++ == 0) first_missing = i;
            if (!bytes[i].written && bytes[i].defined && surplus++ == 0) first_surplus = i;
        }
        if (missing) printf("%s: %d bytes written and not defined, from %d on\n", rows[k].name, missing, first_missing);
        if (surplus) printf("%s: %d bytes defined and not written, from %d on\n", rows[k].name, surplus, first_surplus);
        fflush(stdout);
    }
    kill(tracee, SIGKILL);
    return 0;
}

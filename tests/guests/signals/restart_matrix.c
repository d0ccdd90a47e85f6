// flags: -pthread
/* Which calls go on after a handler, with SA_RESTART and without: every row of signal(7). */
#include "sleeping.h"
#include <limits.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static pid_t main_tid;
static volatile int futex_word, handled;
static int pipe_fd[2], full[2], listener, pair[2], msgq, sems, epoll, lock_fd;
static struct sockaddr_un address;
static char fifo[64], lock_name[64];
static pid_t child;
static mqd_t queue;
static void (*satisfy)(void);

static void feed_pipe(void) { write(pipe_fd[1], "x", 1); }
static void drain(void) { char b[65536]; read(full[0], b, sizeof b); }
static void kill_child(void) { kill(child, SIGKILL); }
static void change_futex(void) { futex_word++; }
static void connect_to(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr *)&address, sizeof address);
    close(fd);
}
static void send_message(void) {
    struct { long type; char c; } m = {1, 'm'};
    msgsnd(msgq, &m, 1, IPC_NOWAIT);
}
static void raise_sem(void) {
    struct sembuf op = {0, 1, 0};
    semop(sems, &op, 1);
}
static void feed_pair(void) { send(pair[1], "y", 1, 0); }
static void open_fifo(void) { open(fifo, O_RDWR | O_NONBLOCK); }
static void feed_queue(void) { mq_send(queue, "z", 1, 0); }
static void unlock_file(void) { kill(child, SIGKILL); waitpid(child, 0, 0); }

static void handler(int sig) {
    int e = errno;
    (void)sig;
    handled++;
    if (satisfy) satisfy();
    errno = e;
}

static long nr_wanted;
static void *sender(void *unused) {
    (void)unused;
    wait_for_call(main_tid, nr_wanted);
    tgkill(getpid(), main_tid, SIGUSR1);
    return 0;
}

static void show(const char *name, long nr, void (*make_ready)(void), long (*call)(void), int restart) {
    struct sigaction sa = {.sa_handler = handler, .sa_flags = restart ? SA_RESTART : 0};
    sigaction(SIGUSR1, &sa, 0);
    satisfy = make_ready;
    handled = 0;
    nr_wanted = nr;
    sleeping_on = nr == SYS_futex ? (const void *)&futex_word : 0;
    pthread_t t;
    pthread_create(&t, 0, sender, 0);
    errno = 0;
    long r = call();
    int e = r < 0 ? errno : 0;
    pthread_join(t, 0);
    printf("%-16s %-8s handled %d result %ld %s\n", name, restart ? "restart" : "", handled, r > 100 ? 1 : r,
           e ? strerrorname_np(e) : "");
    if (r < 0 && make_ready == feed_pipe) { char c; read(pipe_fd[0], &c, 1); }
}

static char byte;
static struct timespec ten = {10, 0};
static long do_read(void) { return read(pipe_fd[0], &byte, 1); }
static long do_write(void) { static char b[PIPE_BUF]; return write(full[1], b, sizeof b); }
static long do_wait4(void) { int s = 0; long r = wait4(child, &s, 0, 0); return r > 0 ? WTERMSIG(s) : r; }
static long do_waitid(void) { siginfo_t si; return waitid(P_PID, (id_t)child, &si, WEXITED); }
static long do_futex(void) { return syscall(SYS_futex, &futex_word, FUTEX_WAIT, futex_word, 0, 0, 0); }
static long do_futex_timed(void) { return syscall(SYS_futex, &futex_word, FUTEX_WAIT, futex_word, &ten, 0, 0); }
static long do_futex_abs(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += 10;
    return syscall(SYS_futex, &futex_word, FUTEX_WAIT_BITSET, futex_word, &t, 0, FUTEX_BITSET_MATCH_ANY);
}
static long do_accept(void) { long fd = accept(listener, 0, 0); if (fd >= 0) close((int)fd), fd = 0; return fd; }
static long do_poll(void) { struct pollfd p = {pipe_fd[0], POLLIN, 0}; return poll(&p, 1, 10000); }
static long do_ppoll(void) { struct pollfd p = {pipe_fd[0], POLLIN, 0}; return ppoll(&p, 1, &ten, 0); }
static long do_poll_forever(void) { struct pollfd p = {pipe_fd[0], POLLIN, 0}; return poll(&p, 1, -1); }
static long do_select(void) {
    fd_set s;
    struct timeval t = {10, 0};
    FD_ZERO(&s);
    FD_SET(pipe_fd[0], &s);
    return syscall(SYS_select, pipe_fd[0] + 1, &s, 0, 0, &t);
}
static long do_pselect(void) {
    fd_set s;
    FD_ZERO(&s);
    FD_SET(pipe_fd[0], &s);
    return syscall(SYS_pselect6, pipe_fd[0] + 1, &s, 0, 0, &(struct timespec){10, 0}, 0);
}
static long do_epoll(void) { struct epoll_event e; return syscall(SYS_epoll_wait, epoll, &e, 1, 10000); }
static long do_epoll_pwait(void) { struct epoll_event e; return epoll_pwait(epoll, &e, 1, 10000, 0); }
static long remaining(long r, struct timespec rem) {
    if (r < 0) printf("  left: some %d, less than asked %d\n", rem.tv_sec > 5, rem.tv_sec < 10);
    return r;
}
static long do_nanosleep(void) { struct timespec rem = {0, 0}; long r = syscall(SYS_nanosleep, &ten, &rem); return remaining(r, rem); }
static long do_clock_nanosleep(void) {
    struct timespec rem = {0, 0};
    long r = syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ten, &rem);
    return remaining(r, rem);
}
static long do_clock_nanosleep_abs(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += 10;
    return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
}
static long do_pause(void) { return pause(); }
static long do_sigsuspend(void) { sigset_t s; sigemptyset(&s); return sigsuspend(&s); }
static long do_sigtimedwait(void) { sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2); return sigtimedwait(&s, 0, &ten); }
static long do_msgrcv(void) { struct { long t; char c; } m; long r = msgrcv(msgq, &m, 1, 0, 0); if (r < 0) { int e = errno; msgrcv(msgq, &m, 1, 0, IPC_NOWAIT); errno = e; } return r; }
static long do_semop(void) {
    struct sembuf op = {0, -1, 0};
    long r = syscall(SYS_semop, sems, &op, 1);
    if (r < 0) { int e = errno; semctl(sems, 0, SETVAL, 0); errno = e; }
    return r;
}
static long do_semtimedop(void) {
    struct sembuf op = {0, -1, 0};
    long r = semtimedop(sems, &op, 1, &ten);
    if (r < 0) { int e = errno; semctl(sems, 0, SETVAL, 0); errno = e; }
    return r;
}
static long take_pair(long r) { int e = errno; char b[8]; recv(pair[0], b, sizeof b, MSG_DONTWAIT); errno = e; return r; }
static long do_recv(void) { return take_pair(recv(pair[0], &byte, 1, 0)); }
static long do_recv_timed(void) {
    struct timeval t = {10, 0}, none = {0, 0};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    long r = take_pair(recv(pair[0], &byte, 1, 0));
    int e = errno;
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    errno = e;
    return r;
}
static long do_recvmsg(void) {
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    return take_pair(recvmsg(pair[0], &m, 0));
}
static long do_open_fifo(void) { long fd = open(fifo, O_WRONLY); if (fd >= 0) fd = 0; return fd; }
static long do_mq_receive(void) { char b[8]; struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 10; long r = mq_timedreceive(queue, b, 8, 0, &t); if (r < 0) { int e = errno; struct timespec z = {0, 0}; mq_timedreceive(queue, b, 8, 0, &z); errno = e; } return r; }
static long do_flock(void) { int fd = open(lock_name, O_RDWR); long r = flock(fd, LOCK_EX); int e = errno; close(fd); errno = e; return r; }
static long do_setlkw(void) {
    int fd = open(lock_name, O_RDWR);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    long r = fcntl(fd, F_SETLKW, &l);
    int e = errno;
    close(fd);
    errno = e;
    return r;
}

static void make_child(int what) {
    int ready[2];
    char c;
    pipe(ready);
    child = fork();
    if (child == 0) {
        int fd = open(lock_name, O_RDWR);
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (what == 1) flock(fd, LOCK_EX);
        if (what == 2) fcntl(fd, F_SETLKW, &l);
        write(ready[1], "r", 1);
        for (;;) pause();
    }
    read(ready[0], &c, 1);
    close(ready[0]);
    close(ready[1]);
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    main_tid = gettid();
    sigset_t s;
    pipe(pipe_fd);
    pipe(full);
    fcntl(full[1], F_SETPIPE_SZ, 65536);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    msgq = msgget(IPC_PRIVATE, 0600);
    sems = semget(IPC_PRIVATE, 1, 0600);
    semctl(sems, 0, SETVAL, 0);
    epoll = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_fd[0], &ev);
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path + 1, 60, "restart-matrix-%d", getpid());
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 5);
    snprintf(fifo, sizeof fifo, "fifo-%d", getpid());
    mkfifo(fifo, 0600);
    snprintf(lock_name, sizeof lock_name, "lock-%d", getpid());
    lock_fd = open(lock_name, O_CREAT | O_RDWR, 0600);
    char name[64];
    snprintf(name, sizeof name, "/restart-%d", getpid());
    struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
    mq_unlink(name);
    (void)s;
    for (int r = 0; r < 2; r++) {
        show("read", SYS_read, feed_pipe, do_read, r);
        char *big = calloc(1, 65536);
        fcntl(full[1], F_SETFL, O_NONBLOCK);
        while (write(full[1], big, 4096) > 0) {}
        fcntl(full[1], F_SETFL, 0);
        free(big);
        show("write", SYS_write, drain, do_write, r);
        make_child(0);
        show("wait4", SYS_wait4, kill_child, do_wait4, r);
        if (!r) waitpid(child, 0, 0);
        make_child(0);
        show("waitid", SYS_waitid, kill_child, do_waitid, r);
        if (!r) waitpid(child, 0, 0);
        show("futex", SYS_futex, change_futex, do_futex, r);
        show("futex timed", SYS_futex, change_futex, do_futex_timed, r);
        show("futex absolute", SYS_futex, change_futex, do_futex_abs, r);
        show("accept", SYS_accept, connect_to, do_accept, r);
        if (!r) do_accept();
        show("poll", SYS_poll, feed_pipe, do_poll, r);
        show("poll forever", SYS_poll, feed_pipe, do_poll_forever, r);
        show("ppoll", SYS_ppoll, feed_pipe, do_ppoll, r);
        show("select", SYS_select, feed_pipe, do_select, r);
        show("pselect", SYS_pselect6, feed_pipe, do_pselect, r);
        show("epoll_wait", SYS_epoll_wait, feed_pipe, do_epoll, r);
        show("epoll_pwait", SYS_epoll_pwait, feed_pipe, do_epoll_pwait, r);
        show("nanosleep", SYS_nanosleep, 0, do_nanosleep, r);
        show("clock_nanosleep", SYS_clock_nanosleep, 0, do_clock_nanosleep, r);
        show("absolute", SYS_clock_nanosleep, 0, do_clock_nanosleep_abs, r);
        show("pause", SYS_pause, 0, do_pause, r);
        show("sigsuspend", SYS_rt_sigsuspend, 0, do_sigsuspend, r);
        show("sigtimedwait", SYS_rt_sigtimedwait, 0, do_sigtimedwait, r);
        show("msgrcv", SYS_msgrcv, send_message, do_msgrcv, r);
        show("semop", SYS_semop, raise_sem, do_semop, r);
        show("semtimedop", SYS_semtimedop, raise_sem, do_semtimedop, r);
        show("recv", SYS_recvfrom, feed_pair, do_recv, r);
        show("recv timed", SYS_recvfrom, feed_pair, do_recv_timed, r);
        show("recvmsg", SYS_recvmsg, feed_pair, do_recvmsg, r);
        show("open a fifo", SYS_openat, open_fifo, do_open_fifo, r);
        unlink(fifo);
        mkfifo(fifo, 0600);
        if (queue != (mqd_t)-1) show("mq_receive", SYS_mq_timedreceive, feed_queue, do_mq_receive, r);
        make_child(1);
        show("flock", SYS_flock, unlock_file, do_flock, r);
        if (!r) do_flock();
        make_child(2);
        show("F_SETLKW", SYS_fcntl, unlock_file, do_setlkw, r);
    }
    unlink(fifo);
    unlink(lock_name);
    msgctl(msgq, IPC_RMID, 0);
    semctl(sems, 0, IPC_RMID);
    return 0;
}

// flags: -pthread
/* SIGSTOP and SIGCONT in the middle of a call with a timeout: it goes on, for the time that is left. */
#include "sleeping.h"
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>

static int word;
static struct timespec span = {0, 400000000};
static int fds[2], epoll;
static long do_nanosleep(void) { return syscall(SYS_nanosleep, &span, 0); }
static long do_clock_nanosleep(void) { return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &span, 0); }
static long do_poll(void) { struct pollfd p = {fds[0], POLLIN, 0}; return syscall(SYS_poll, &p, 1, 400); }
static long do_futex(void) { return syscall(SYS_futex, &word, FUTEX_WAIT, word, &span, 0, 0); }
static long do_select(void) { struct timeval t = {0, 400000}; return syscall(SYS_select, 0, 0, 0, 0, &t); }
static long do_epoll(void) { struct epoll_event e; return syscall(SYS_epoll_wait, epoll, &e, 1, 400); }

static void handler(int sig) { (void)sig; write(2, "", 0); }

static void one(const char *name, long (*call)(void), long number, int handled) {
    int pipes[2];
    pipe(pipes);
    pid_t pid = fork();
    if (pid == 0) {
        struct timespec a, b;
        if (handled) signal(SIGCONT, handler);
        clock_gettime(CLOCK_MONOTONIC, &a);
        write(pipes[1], "a", 1);
        long r = call();
        int e = r < 0 ? errno : 0;
        clock_gettime(CLOCK_MONOTONIC, &b);
        long ms = (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000;
        dprintf(1, "%-16s %s result %ld %s, slept %s\n", name, handled ? "handler" : "       ", r, e ? strerrorname_np(e) : "",
                e == EINTR ? "less" : ms < 400 ? "too little" : ms > 5000 ? "far too long" : "as long as asked");
        _exit(0);
    }
    char c;
    int status;
    read(pipes[0], &c, 1);
    wait_for_call(pid, number);
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    printf("stopped %d by %d; ", WIFSTOPPED(status), WSTOPSIG(status));
    fflush(stdout);
    kill(pid, SIGCONT);
    waitpid(pid, &status, WCONTINUED);
    if (WIFCONTINUED(status)) waitpid(pid, &status, 0);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void) {
    pipe(fds);
    epoll = epoll_create1(0);
    for (int handled = 0; handled < 2; handled++) {
        one("nanosleep", do_nanosleep, SYS_nanosleep, handled);
        one("clock_nanosleep", do_clock_nanosleep, SYS_clock_nanosleep, handled);
        one("poll", do_poll, SYS_poll, handled);
        one("futex", do_futex, SYS_futex, handled);
        one("select", do_select, SYS_select, handled);
        one("epoll_wait", do_epoll, SYS_epoll_wait, handled);
    }
    return 0;
}

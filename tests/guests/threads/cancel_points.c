/* Cancellation in each blocking call that is a cancellation point, in a busy loop (asynchronous), and disabled. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int p[2], sv[2], listener, queue, full[2];
static sem_t sem;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_t forever;
static volatile int ready;
static char byte, big[1 << 20];
static pid_t child;
static struct timespec hour = {3600, 0};

static void f_read(void) { read(p[0], &byte, 1); }
static void f_write(void) { write(full[1], big, sizeof big); }
static void f_recv(void) { recv(sv[0], &byte, 1, 0); }
static void f_recvmsg(void) {
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    recvmsg(sv[0], &m, 0);
}
static void f_accept(void) { accept(listener, NULL, NULL); }
static void f_poll(void) {
    struct pollfd f = {p[0], POLLIN, 0};
    poll(&f, 1, -1);
}
static void f_ppoll(void) {
    struct pollfd f = {p[0], POLLIN, 0};
    sigset_t none;
    sigemptyset(&none);
    ppoll(&f, 1, NULL, &none);
}
static void f_select(void) {
    fd_set s;
    FD_ZERO(&s);
    FD_SET(p[0], &s);
    select(p[0] + 1, &s, NULL, NULL, NULL);
}
static void f_pselect(void) {
    fd_set s;
    FD_ZERO(&s);
    FD_SET(p[0], &s);
    pselect(p[0] + 1, &s, NULL, NULL, NULL, NULL);
}
static void f_epoll(void) {
    int e = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event ev;
    epoll_wait(e, &ev, 1, -1);
}
static void f_nanosleep(void) { nanosleep(&hour, NULL); }
static void f_clock_nanosleep(void) { clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL); }
static void f_sleep(void) { sleep(3600); }
static void f_usleep(void) { usleep(900000000); }
static void f_pause(void) { pause(); }
static void f_sigsuspend(void) {
    sigset_t s;
    sigemptyset(&s);
    sigsuspend(&s);
}
static void f_sigwait(void) {
    sigset_t s;
    int got;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    sigwait(&s, &got);
}
static void f_sigtimedwait(void) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    sigtimedwait(&s, NULL, &hour);
}
static void f_sem_wait(void) { sem_wait(&sem); }
static void f_sem_timedwait(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 3600;
    sem_timedwait(&sem, &t);
}
static void unlock(void *m) { pthread_mutex_unlock(m); }
static void f_cond_wait(void) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    pthread_cond_wait(&cond, &lock);
    pthread_cleanup_pop(1);
}
static void f_cond_timedwait(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 3600;
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    pthread_cond_timedwait(&cond, &lock, &t);
    pthread_cleanup_pop(1);
}
static void f_join(void) { pthread_join(forever, NULL); }
static void f_wait(void) { waitpid(child, NULL, 0); }
static void f_waitid(void) {
    siginfo_t i;
    waitid(P_PID, child, &i, WEXITED);
}
static void f_msgrcv(void) {
    struct { long type; char text[8]; } m;
    msgrcv(queue, &m, 8, 0, 0);
}
static void f_fifo(void) { open("/tmp/cancel-points-fifo", O_RDONLY); }
static void f_lock(void) {
    int fd = open("/tmp/cancel-points-lock", O_RDWR | O_CREAT, 0600);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(fd, F_OFD_SETLKW, &l);
}
static void f_testcancel(void) { pthread_testcancel(); }
static void f_busy(void) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (volatile long n = 0;; n++) {}
}

static const struct { const char *name; void (*f)(void); } points[] = {
    {"read", f_read}, {"write", f_write}, {"recv", f_recv}, {"recvmsg", f_recvmsg}, {"accept", f_accept}, {"poll", f_poll},
    {"ppoll", f_ppoll}, {"select", f_select}, {"pselect", f_pselect}, {"epoll_wait", f_epoll}, {"nanosleep", f_nanosleep},
    {"clock_nanosleep", f_clock_nanosleep}, {"sleep", f_sleep}, {"usleep", f_usleep}, {"pause", f_pause},
    {"sigsuspend", f_sigsuspend}, {"sigwait", f_sigwait}, {"sigtimedwait", f_sigtimedwait}, {"sem_wait", f_sem_wait},
    {"sem_timedwait", f_sem_timedwait}, {"pthread_cond_wait", f_cond_wait}, {"pthread_cond_timedwait", f_cond_timedwait},
    {"pthread_join", f_join}, {"waitpid", f_wait}, {"waitid", f_waitid}, {"msgrcv", f_msgrcv}, {"open of a fifo", f_fifo},
    {"a lock", f_lock}, {"pthread_testcancel", f_testcancel}, {"busy", f_busy},
};

static int cleaned;
static void cleanup(void *arg) { cleaned += *(int *)arg; }
static void *runs(void *arg) {
    int one = 1;
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &s, NULL);
    pthread_cleanup_push(cleanup, &one);
    ready = 1;
    for (;;) ((void (*)(void))arg)();
    pthread_cleanup_pop(0);
    return NULL;
}
static void *disabled(void *arg) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    ready = 1;
    usleep(20000);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    cleaned = 100;
    pthread_testcancel();
    cleaned = 200;
    return arg;
}
static void *sleeps_on(void *arg) {
    for (;;) pause();
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    pipe(p);
    pipe(full);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&a, 2);
    listen(listener, 1);
    sem_init(&sem, 0, 0);
    queue = msgget(IPC_PRIVATE, 0600);
    unlink("/tmp/cancel-points-fifo");
    mkfifo("/tmp/cancel-points-fifo", 0600);
    int fd = open("/tmp/cancel-points-lock", O_RDWR | O_CREAT, 0600);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(fd, F_OFD_SETLK, &l);
    pthread_create(&forever, NULL, sleeps_on, NULL);
    child = fork();
    if (child == 0)
        for (;;) pause();
    for (unsigned i = 0; i < sizeof points / sizeof *points; i++) {
        for (int late = 0; late < 2; late++) {
            pthread_t t;
            void *r = NULL;
            ready = cleaned = 0;
            pthread_create(&t, NULL, runs, points[i].f);
            while (late && !ready) sched_yield();
            if (late) usleep(3000);
            pthread_cancel(t);
            pthread_join(t, &r);
            printf("%s: %s, cleaned %d\n", points[i].name, r == PTHREAD_CANCELED ? "cancelled" : "returned", late ? cleaned : cleaned == ready);
        }
    }
    pthread_t t;
    void *r;
    ready = 0;
    pthread_create(&t, NULL, disabled, NULL);
    while (!ready) sched_yield();
    pthread_cancel(t);
    pthread_join(t, &r);
    printf("disabled: %d %d\n", cleaned, r == PTHREAD_CANCELED);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    msgctl(queue, IPC_RMID, NULL);
    unlink("/tmp/cancel-points-fifo");
    unlink("/tmp/cancel-points-lock");
    return 0;
}

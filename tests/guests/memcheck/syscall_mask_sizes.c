/* Signal masks are eight bytes: with another size the kernel looks at none of what that would cover. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void use(void *mask, void *old, void *waiting, long size) {
    struct timespec zero = {0, 0};
    struct epoll_event event;
    void *pair[2] = {mask, (void *)size};
    int queue = epoll_create1(0);
    long fds[] = {syscall(SYS_signalfd, -1, mask, size), syscall(SYS_signalfd4, -1, mask, size, 0)};
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0) close((int)fds[i]);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, mask, NULL, size);
    syscall(SYS_rt_sigtimedwait, mask, NULL, &zero, size);
    syscall(SYS_ppoll, NULL, 0, &zero, mask, size);
    syscall(SYS_pselect6, 0, NULL, NULL, NULL, &zero, pair);
    syscall(SYS_epoll_pwait, queue, &event, 1, 0, mask, size);
    if (size != 8) syscall(SYS_rt_sigsuspend, mask, size); /* else for ever */
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, old, size);
    syscall(SYS_rt_sigpending, waiting, size);
    close(queue);
}

int main(void) {
    long *whole = calloc(1, 8);
    int *half[3];
    for (int i = 0; i < 3; i++) half[i] = calloc(1, 4);
    use(whole, whole, whole, 16);
    use(half[0], half[1], half[2], 8);
    for (int i = 0; i < 3; i++) free(half[i]);
    free(whole);
    return 0;
}

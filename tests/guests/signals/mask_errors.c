/* Which of several wrong arguments of a wait with a signal mask the kernel complains of: timeouts come before masks. */
// errors: 1
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec good, much = {0, 1000000000}, before = {-1, 0}, *const times[] = {NULL, &good, &much, &before, (void *)5};
static sigset_t mask;
static void *const masks[] = {NULL, &mask, (void *)7};
static const unsigned long sizes[] = {8, 16};

static void say(const char *name, int t, int m, int s, long r) {
    printf("%s time %d mask %d size %lu: %ld %s\n", name, t, m, sizes[s], r, r < 0 ? strerrorname_np(errno) : "");
}

int main(void) {
    int poller = epoll_create1(0);
    struct epoll_event events[1];
    unsigned long io = 0;
    syscall(SYS_io_setup, 4, &io);
    for (int t = 0; t < 5; t++)
        for (int m = 0; m < 3; m++)
            for (int s = 0; s < 2; s++) {
                if (t == 0 && (m == 0 || (m == 1 && s == 0))) continue; /* would wait */
                struct {
                    void *mask;
                    unsigned long size;
                } pair = {masks[m], sizes[s]};
                say("ppoll", t, m, s, syscall(SYS_ppoll, NULL, 0, times[t], masks[m], sizes[s]));
                say("pselect6", t, m, s, syscall(SYS_pselect6, 0, NULL, NULL, NULL, times[t], &pair));
                say("epoll_pwait2", t, m, s, syscall(SYS_epoll_pwait2, poller, events, 1, times[t], masks[m], sizes[s]));
                if (t == 2 || t == 3) continue; /* it takes any: would wait */
                say("io_pgetevents", t, m, s, syscall(SYS_io_pgetevents, io, 1L, 1L, events, times[t], &pair));
            }
    for (int t = 0; t < 5; t++) {
        if (t == 0 || t == 3) continue;
        say("pselect6 no pair", t, 0, 0, syscall(SYS_pselect6, 0, NULL, NULL, NULL, times[t], (void *)9));
        say("io_pgetevents no pair", t, 0, 0, syscall(SYS_io_pgetevents, io, 1L, 1L, events, times[t], (void *)9));
        say("io_pgetevents no context", t, 0, 0, syscall(SYS_io_pgetevents, 77L, 1L, 1L, events, times[t], NULL));
    }
    return 0;
}

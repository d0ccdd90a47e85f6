/* Wakes the event loop for what does not come over the channel: data and ends of files that it watches. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit/native_api.h"
#include "jit/system.h"
#include "jit/watch.h"

static volatile uint32_t heard;

/* The thread that waits is the one that is interrupted, so the channel it waits at is mapped. */
static void hear(int signal) {
    (void)signal;
    int kept = errno;
    __atomic_store_n(&heard, 1, __ATOMIC_SEQ_CST);
    ip_wake_python();
    errno = kept;
}

int ip_heard(void) { return heard && __atomic_exchange_n(&heard, 0, __ATOMIC_SEQ_CST); }

int ip_watch(int fd) {
    struct sigaction action = {.sa_handler = hear, .sa_flags = SA_RESTART};
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || sigaction(SIGIO, &action, NULL) < 0 || fcntl(fd, F_SETOWN_EX, &owner) < 0) return -errno;
    return fcntl(fd, F_SETFL, flags | O_ASYNC | O_NONBLOCK) < 0 ? -errno : 0;
}

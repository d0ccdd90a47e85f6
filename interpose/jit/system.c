/* See system.h. */
#include "jit/system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "abi/channel.h"

#define SAME(name) _Static_assert((int)IP_LIMIT_##name == (int)RLIMIT_##name, #name)
SAME(CPU);
SAME(FSIZE);
SAME(DATA);
SAME(STACK);
SAME(NOFILE);
SAME(AS);
_Static_assert(IP_CAN_READ == POLLIN && IP_HUNG_UP == POLLHUP, "events");

static int result(int value) { return value < 0 ? -errno : value; }

int ip_duplicate(int fd, int lowest, int is_inherited) {
    return result(fcntl(fd, is_inherited ? F_DUPFD : F_DUPFD_CLOEXEC, lowest));
}

int ip_descriptor_flags(int fd) { return result(fcntl(fd, F_GETFL)); }

int ip_place_in(int root, const char *path) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    return result((int)syscall(SYS_openat2, root, path, &how, sizeof how));
}

int ip_get_limit(int which, uint64_t *soft, uint64_t *hard) {
    struct rlimit limit = {0};
    int r = result(getrlimit((__rlimit_resource_t)which, &limit));
    *soft = limit.rlim_cur;
    *hard = limit.rlim_max;
    return r;
}

int ip_set_limit(int which, uint64_t soft, uint64_t hard) {
    struct rlimit limit = {soft, hard};
    return result(setrlimit((__rlimit_resource_t)which, &limit));
}

int ip_adopt_orphans(void) { return result(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)); }

int ip_end_with_parent(void) { return result(prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0)); }

int ip_socket_pair(int *ends) {
    int on = 1, r = result(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    return r < 0 ? r : result(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
}

int ip_send_files(int sock, const void *data, uint64_t size, const int *fds, int count) {
    char control[CMSG_SPACE(8 * sizeof *fds)] __attribute__((aligned(8))) = {0};
    struct iovec part = {(void *)(uintptr_t)data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    size_t bytes = (size_t)count * sizeof *fds;
    if (count < 0 || count > 8) return -EINVAL;
    if (count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(head), fds, bytes);
    }
    while (part.iov_len) {
        ssize_t sent = sendmsg(sock, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return -errno;
        part.iov_base = (char *)part.iov_base + sent;
        part.iov_len -= (size_t)sent;
        message.msg_controllen = 0;
    }
    return 0;
}

int ip_name_process(const char *name) { return result(prctl(PR_SET_NAME, name, 0, 0, 0)); }

int ip_listen(const char *path) {
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof where.sun_path) return -ENAMETOOLONG;
    memcpy(where.sun_path, path, length);
    int fd = result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return fd;
    int r =
        result(bind(fd, (const struct sockaddr *)&where, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)));
    if (!r) r = result(listen(fd, 8));
    if (!r) return fd;
    close(fd);
    return r;
}

int ip_accept(int fd) { return result(accept4(fd, NULL, NULL, SOCK_CLOEXEC)); }

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int ip_poll(int fd, int ms) {
    int64_t end = now_ms() + ms;
    for (int left = ms;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int r = result(poll(&p, 1, left));
        if (r >= 0) return r ? p.revents : 0;
        if (r != -EINTR) return r;
        left = (int)(end - now_ms());
        if (left < 0) left = 0;
    }
}

struct ip_chan *ip_map_channel(int fd) {
    void *mapped = mmap(NULL, IP_CHAN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

void ip_unmap_channel(struct ip_chan *mapped) { munmap(mapped, IP_CHAN_BYTES); }

const uint8_t *ip_map_file(int fd, uint64_t *size) {
    struct stat status;
    if (fstat(fd, &status) < 0) return NULL;
    *size = (uint64_t)status.st_size;
    void *mapped = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

size_t ip_touched(int pagemap, uint64_t lo, uint64_t hi, uint64_t gap, struct ip_range *out, size_t max) {
    enum { PAGE = 4096, ENTRIES = 4096 };
    const uint64_t somewhere = 3ull << 62; /* present, or swapped */
    uint64_t entries[ENTRIES];
    size_t found = 0;
    for (uint64_t at = lo; at < hi;) {
        size_t n = (hi - at) / PAGE < ENTRIES ? (hi - at) / PAGE : ENTRIES;
        int whole = pread(pagemap, entries, 8 * n, (off_t)(at / PAGE * 8)) == (ssize_t)(8 * n);
        for (size_t i = 0; i < n; i++, at += PAGE) {
            if (whole && !(entries[i] & somewhere)) continue;
            if (found && at - out[found - 1].end < gap) {
                out[found - 1].end = at + PAGE;
            } else {
                if (found == max) return found;
                out[found++] = (struct ip_range){at, at + PAGE};
            }
        }
    }
    return found;
}

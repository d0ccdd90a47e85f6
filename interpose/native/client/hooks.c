/* Hooked calls on the real CPU: what the stub asks goes over a socket to the process that runs the hooks.
 *
 * Any connection will do for any turn, so that threads that end leave none behind. All of them, and whose they are, are
 * noted on a page that a fork empties: children of any kind of fork begin with none, and make their own. */
#include "native/client/native.h"

#include <linux/mman.h>
#include <sys/syscall.h>

#include "abi/hook.h"

enum { CONNECTIONS = 64, LEAST_COPIED = 32, PAGE = 4096 };
enum { EMPTY, FREE, BUSY };

struct connection {
    uint32_t state;
    int32_t fd;
    uint64_t inode; /* of the socket: the program may have closed the number, and opened something else there */
};

static struct pool {
    uint32_t owner; /* the process; 0 after a fork */
    struct connection connections[CONNECTIONS];
} *pool;

static char name[IP_NATIVE_NAME];
static int gone;                  /* nobody runs hooks any more */
static int last_fds[CONNECTIONS]; /* what the pool has, to be closed in a child */
static int forking = -1;          /* by this connection another process waits for a child */
static char next[IP_NATIVE_NAME]; /* where that listens */

int ip_native_ask(struct ip_hook_frame *frame);

/* ---- bytes ------------------------------------------------------------------------------------- */

static int send_all(int fd, const void *data, size_t size) {
    for (size_t done = 0; done < size;) {
        long sent =
            sys6(SYS_sendto, fd, (long)((const uint8_t *)data + done), (long)(size - done), IP_NATIVE_NOSIGNAL, 0, 0);
        if (sent == -4 /* EINTR */) continue;
        if (sent <= 0) return 0;
        done += (size_t)sent;
    }
    return 1;
}

static int receive_all(int fd, void *data, size_t size) {
    for (size_t done = 0; done < size;) {
        long got = sys6(SYS_recvfrom, fd, (long)((uint8_t *)data + done), (long)(size - done), 0, 0, 0);
        if (got == -4) continue;
        if (got <= 0) return 0;
        done += (size_t)got;
    }
    return 1;
}

/* Bytes for the program's memory. The kernel says when that cannot be written; then they are taken from the stream all
 * the same. */
static int receive_to(int fd, uint64_t address, uint64_t size, uint32_t *failed) {
    uint8_t lost[256];
    while (size) {
        uint64_t part = *failed && size > sizeof lost ? sizeof lost : size;
        long got = sys6(SYS_recvfrom, fd, *failed ? (long)lost : (long)address, (long)part, 0, 0, 0);
        if (got == -4) continue;
        if (got == -14 /* EFAULT */ && !*failed) {
            *failed = 1;
            continue;
        }
        if (got <= 0) return 0;
        address += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return 1;
}

/* ---- connections ------------------------------------------------------------------------------- */

static uint64_t inode_of(int fd) {
    struct {
        uint64_t device, inode, more[16];
    } status;
    return sys2(SYS_fstat, fd, (long)&status) < 0 ? 0 : status.inode;
}

/* Out of the way of the program's numbers. */
static int moved_up(int fd) {
    enum { F_DUPFD_CLOEXEC_ = 1030 };
    if (fd >= IP_NATIVE_LOW) return fd;
    for (int least = IP_NATIVE_LOW; least > 2 * IP_NATIVE_ROOM; least /= 2) {
        long high = sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC_, least);
        if (high < 0) continue;
        sys1(SYS_close, fd);
        return (int)high;
    }
    return fd;
}

/* A connection, after its hello; below 0: there is none. *welcome is what was answered. */
static int greet(uint32_t flags, struct ip_native_welcome *welcome) {
    struct ip_native_hello hello = {
        IP_NATIVE_MAGIC, flags, {0}, (uint64_t)interpose_hook_entries, (uint64_t)interpose_hook};
    int fd = ip_native_connect(name);
    if (fd < 0) return fd;
    __builtin_memcpy(hello.token, ip_native_setup->token, sizeof hello.token);
    if (send_all(fd, &hello, sizeof hello) && receive_all(fd, welcome, sizeof *welcome)) return fd;
    sys1(SYS_close, fd);
    return -1;
}

static int connect_to_hooks(uint32_t flags) {
    enum { MOST_MOVES = 8 };
    for (int i = 0; i < MOST_MOVES; i++) {
        struct ip_native_welcome welcome;
        int fd = greet(flags, &welcome);
        if (fd < 0 || !welcome.moved) return fd < 0 ? fd : moved_up(fd);
        __builtin_memcpy(name, welcome.name, sizeof name);
        /* Not closed before: the copy of whoever ran the hooks waits for this process as long as it is open. */
        int own = greet(flags, &welcome);
        sys1(SYS_close, fd);
        if (own < 0 || !welcome.moved) return own < 0 ? own : moved_up(own);
        sys1(SYS_close, own);
    }
    return -1;
}

/* One that nobody else uses, in *place or, where that is NULL, for one turn. */
static int take_connection(struct connection **place) {
    uint32_t self = (uint32_t)sys0(SYS_getpid), none = 0;
    *place = NULL;
    __atomic_compare_exchange_n(&pool->owner, &none, self, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (pool->owner != self) return connect_to_hooks(IP_NATIVE_SHARES);
    for (;;) {
        int connected = 0;
        for (int i = 0; i < CONNECTIONS; i++) {
            struct connection *each = &pool->connections[i];
            uint32_t state = __atomic_load_n(&each->state, __ATOMIC_RELAXED);
            connected |= state == BUSY;
            if (state == BUSY) continue;
            if (!__atomic_compare_exchange_n(&each->state, &state, BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                continue;
            if (state == FREE && inode_of(each->fd) == each->inode) {
                *place = each;
                return each->fd;
            }
            int fd = connect_to_hooks(0);
            if (fd < 0) {
                __atomic_store_n(&each->state, EMPTY, __ATOMIC_RELEASE);
                if ((fd != -24 /* EMFILE */ && fd != -23 /* ENFILE */) || !connected) return fd;
                break;
            }
            last_fds[i] = each->fd = fd;
            each->inode = inode_of(fd);
            *place = each;
            return fd;
        }
        struct {
            long seconds, nanoseconds;
        } moment = {0, 1000000};
        sys2(SYS_nanosleep, (long)&moment, 0);
    }
}

static void give_back(struct connection *place, int fd, int works) {
    if (!works || !place) sys1(SYS_close, fd);
    if (place) __atomic_store_n(&place->state, works ? FREE : EMPTY, __ATOMIC_RELEASE);
}

/* ---- a turn ------------------------------------------------------------------------------------ */

/* Words that may be read from an address on: what follows a stack need not be mapped. The kernel reads the mask before
 * it refuses what it shall do with it. */
static uint32_t words_from(uint64_t address) {
    enum { NOTHING_TO_DO = 99 };
    uint64_t end = (address + PAGE) & -(uint64_t)PAGE;
    if (end - address >= 8 * LEAST_COPIED) return LEAST_COPIED;
    long answer = sys4(SYS_rt_sigprocmask, NOTHING_TO_DO, (long)end, 0, 8);
    return answer == -14 /* EFAULT */ ? (uint32_t)(end - address) / 8 : LEAST_COPIED;
}

static int turn(int fd, struct ip_hook_frame *frame, struct ip_native_answer *answer, uint32_t *failed) {
    struct {
        struct ip_native_hooked head;
        struct ip_hook_frame frame;
    } event = {{(uint64_t)frame, words_from((uint64_t)frame + IP_HOOK_STACK), *failed, answer->again,
                (uint32_t)sys0(SYS_gettid)},
               *frame};
    if (!send_all(fd, &event, sizeof event) || !receive_all(fd, answer, sizeof *answer) ||
        !receive_all(fd, frame, sizeof *frame))
        return 0;
    *failed = 0;
    for (uint32_t i = 0; i < answer->writes; i++) {
        uint64_t place[2];
        if (!receive_all(fd, place, sizeof place) || !receive_to(fd, place[0], place[1], failed)) return 0;
    }
    return 1;
}

/* What the stub is to do; asks until it is up to the stub. Signals wait meanwhile: their handlers may be hooked. */
int ip_native_ask(struct ip_hook_frame *frame) {
    uint64_t all = -1ull, before;
    struct ip_native_answer answer = {IP_HOOK_LEAVE, IP_HOOK_DONE, 0, 0};
    struct connection *place = NULL;
    uint32_t failed = 0;
    int fd, works = 0;
    sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)&all, (long)&before, 8);
    fd = gone ? -1 : take_connection(&place);
    if (fd >= 0) {
        do works = turn(fd, frame, &answer, &failed);
        while (works && answer.again != IP_HOOK_DONE);
        give_back(place, fd, works);
    }
    if (!works) { /* the function itself, as if nothing had been bound */
        answer.action = frame->words[3] == IP_HOOK_ENTERED ? IP_HOOK_PROCEED : IP_HOOK_LEAVE;
        frame->copied = words_from((uint64_t)frame + IP_HOOK_STACK) & -2u;
        frame->changes = 0;
        frame->target = frame->original;
    }
    if (answer.action == IP_HOOK_PROCEED) frame->target = ip_native_original(frame->original);
    sys4(SYS_rt_sigprocmask, 2, (long)&before, 0, 8);
    return (int)answer.action;
}

/* ---- begin and end ------------------------------------------------------------------------------ */

const char *ip_native_hooks_name(void) { return name; }

void ip_native_hooks_start(void) {
    __builtin_memcpy(name, ip_native_setup->hooks, sizeof name);
    pool = ip_native_map(PAGE, PROT_READ | PROT_WRITE, 0);
    gone = !pool || sys3(SYS_madvise, (long)pool, PAGE, 18 /* MADV_WIPEONFORK */) < 0;
    if (gone) return;
    int fd = connect_to_hooks(IP_NATIVE_STARTS);
    if (fd < 0) {
        gone = 1;
        return;
    }
    pool->owner = (uint32_t)sys0(SYS_getpid);
    pool->connections[0] = (struct connection){FREE, fd, inode_of(fd)};
    last_fds[0] = fd;
}

/* Turns that are under way go on. */
void ip_native_hooks_stop(void) {
    if (!pool) return;
    gone = 1;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *each = &pool->connections[i];
        uint32_t state = FREE;
        if (__atomic_compare_exchange_n(&each->state, &state, BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            sys1(SYS_close, each->fd);
    }
}

void ip_native_hooks_fork(void) {
    struct ip_native_welcome welcome;
    forking = -1;
    if (!pool || gone) return;
    forking = greet(IP_NATIVE_COPIES, &welcome);
    if (forking >= 0) __builtin_memcpy(next, welcome.name, sizeof next);
}

void ip_native_hooks_in_parent(void) {
    if (forking >= 0) sys1(SYS_close, forking);
    forking = -1;
}

void ip_native_hooks_in_child(void) {
    if (!pool || gone) return;
    for (int i = 0; i < CONNECTIONS; i++) {
        if (last_fds[i]) sys1(SYS_close, last_fds[i]);
        last_fds[i] = 0;
    }
    if (forking < 0) {
        gone = 1;
        return;
    }
    __builtin_memcpy(name, next, sizeof name);
    int fd = connect_to_hooks(0);
    if (fd >= 0) {
        pool->owner = (uint32_t)sys0(SYS_getpid);
        pool->connections[0] = (struct connection){FREE, fd, inode_of(fd)};
        last_fds[0] = fd;
    }
    sys1(SYS_close, forking);
    forking = -1;
}

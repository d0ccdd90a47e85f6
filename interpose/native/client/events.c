/* What the dynamic linker does, told to the supervisor, and what that orders. */
#include "native/client/native.h"

#include <elf.h>
#include <link.h>
#include <linux/mman.h>
#include <linux/un.h>
#include <sys/syscall.h>

enum { AF_UNIX_ = 1, SOCK_STREAM_CLOEXEC = 1 | 02000000 };

static size_t length(const char *text) {
    size_t size = 0;
    while (text[size]) size++;
    return size;
}

/* ---- the way to the supervisor ------------------------------------------------------------------ */

struct stream {
    int fd;
    int broken;
    uint32_t filled;
    uint8_t buffer[16384];
};

static void send_out(struct stream *stream) {
    for (uint32_t done = 0; done < stream->filled && !stream->broken;) {
        long sent = sys6(SYS_sendto, stream->fd, (long)(stream->buffer + done), stream->filled - done,
                         IP_NATIVE_NOSIGNAL, 0, 0);
        if (sent == -4 /* EINTR */) continue;
        if (sent <= 0)
            stream->broken = 1;
        else
            done += (uint32_t)sent;
    }
    stream->filled = 0;
}

static void write_bytes(struct stream *stream, const void *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (stream->filled == sizeof stream->buffer) send_out(stream);
        stream->buffer[stream->filled++] = ((const uint8_t *)data)[i];
    }
}

static int read_bytes(struct stream *stream, void *data, size_t size) {
    size_t done = 0;
    while (done < size && !stream->broken) {
        long got = sys3(SYS_read, stream->fd, (long)((uint8_t *)data + done), (long)(size - done));
        if (got == -4) continue;
        if (got <= 0)
            stream->broken = 1;
        else
            done += (size_t)got;
    }
    return !stream->broken;
}

int ip_native_connect(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX_};
    size_t size = length(name);
    for (size_t i = 0; i < size; i++) address.sun_path[1 + i] = name[i];
    int fd = (int)sys3(SYS_socket, AF_UNIX_, SOCK_STREAM_CLOEXEC, 0);
    if (fd < 0) return fd;
    if (sys3(SYS_connect, fd, (long)&address, (long)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) == 0)
        return fd;
    sys1(SYS_close, fd);
    return -1;
}

static int open_stream(struct stream *stream) {
    stream->broken = 0;
    stream->filled = 0;
    stream->fd = ip_native_connect(ip_native_setup->socket);
    return stream->fd >= 0;
}

/* ---- messages ----------------------------------------------------------------------------------- */

/* Every object of every namespace, in the order of loading. glibc links the namespaces from version 2 on. */
struct debug_extended {
    struct r_debug base;
    struct debug_extended *next;
};

static const struct r_debug *next_namespace(const struct r_debug *debug) {
    const struct r_debug *first = (const struct r_debug *)ip_native_setup->debug;
    return first->r_version > 1 ? (const struct r_debug *)((const struct debug_extended *)debug)->next : NULL;
}

static uint32_t parent; /* of the last fork */

static struct ip_native_greeting new_greeting(uint32_t event, uint32_t value) {
    struct ip_native_greeting greeting = {
        .magic = IP_NATIVE_MAGIC,
        .event = event,
        .thread = (uint32_t)sys0(SYS_gettid),
        .value = value,
        .hook_entries = (uint64_t)interpose_hook_entries,
        .hook_common = (uint64_t)interpose_hook,
        .initialise = (uint64_t)ip_native_initialise,
    };
    __builtin_memcpy(greeting.token, ip_native_setup->token, sizeof greeting.token);
    __builtin_memcpy(greeting.hooks, ip_native_hooks_name(), sizeof greeting.hooks);
    return greeting;
}

static void write_objects(struct stream *stream) {
    struct ip_native_greeting greeting = new_greeting(IP_NATIVE_LINKED, 0);
    greeting.bound = ip_native_bound;
    const struct r_debug *first = (const struct r_debug *)ip_native_setup->debug;
    for (const struct r_debug *debug = first; debug; debug = next_namespace(debug))
        for (const struct link_map *map = debug->r_map; map; map = map->l_next) greeting.objects++;
    write_bytes(stream, &greeting, sizeof greeting);
    for (const struct r_debug *debug = first; debug; debug = next_namespace(debug)) {
        for (const struct link_map *map = debug->r_map; map; map = map->l_next) {
            size_t size = length(map->l_name);
            struct ip_native_object object = {map->l_addr, (uint64_t)map->l_ld, (uint32_t)size, 0};
            write_bytes(stream, &object, sizeof object);
            write_bytes(stream, map->l_name, size);
        }
    }
    for (uint32_t i = 0; i < ip_native_bound; i++) {
        const struct ip_native_binding *binding = &ip_native_bindings[i];
        struct ip_native_claim claim = {binding->address, binding->target, binding->wraps, binding->room,
                                        binding->cave};
        write_bytes(stream, &claim, sizeof claim);
    }
    send_out(stream);
}

static uint64_t resolve(uint64_t resolver) { return ((uint64_t (*)(void))resolver)(); }

static int obey(struct stream *stream, const struct ip_native_head *head) {
    enum { BATCH = 256 };
    for (uint32_t done = 0; done < head->count; done += BATCH) {
        uint32_t count = head->count - done < BATCH ? head->count - done : BATCH;
        uint64_t answers[BATCH];
        union {
            struct ip_native_patch patches[BATCH];
            struct ip_native_claim claims[BATCH];
            uint64_t words[BATCH];
        } rows;
        switch (head->order) {
        case IP_NATIVE_PATCH:
            if (!read_bytes(stream, rows.patches, count * sizeof *rows.patches)) return 0;
            for (uint32_t i = 0; i < count; i++) ip_native_rewrite(rows.patches[i].address, rows.patches[i].marker);
            break;
        case IP_NATIVE_UNBIND:
        case IP_NATIVE_FORGET:
            if (!read_bytes(stream, rows.words, count * sizeof *rows.words)) return 0;
            for (uint32_t i = 0; i < count; i++) ip_native_unbind(rows.words[i], head->order == IP_NATIVE_FORGET);
            break;
        case IP_NATIVE_BIND:
            if (!read_bytes(stream, rows.claims, count * sizeof *rows.claims)) return 0;
            ip_native_bind(rows.claims, answers, count);
            write_bytes(stream, answers, count * sizeof *answers);
            break;
        case IP_NATIVE_RESOLVE:
            if (!read_bytes(stream, rows.words, count * sizeof *rows.words)) return 0;
            for (uint32_t i = 0; i < count; i++) answers[i] = resolve(rows.words[i]);
            write_bytes(stream, answers, count * sizeof *answers);
            break;
        default: return 0;
        }
    }
    send_out(stream);
    return !stream->broken;
}

/* Resolvers and the agent's script run in this thread meanwhile, and are not to be wrapped. */
static void report(void) {
    struct stream stream;
    struct ip_native_head head;
    uint64_t passed = ip_native_thread.passes;
    if (!open_stream(&stream)) return;
    ip_native_thread.passes = IP_NATIVE_PASSES;
    write_objects(&stream);
    while (read_bytes(&stream, &head, sizeof head) && head.order != IP_NATIVE_DONE)
        if (!obey(&stream, &head)) break;
    ip_native_thread.passes = passed;
    sys1(SYS_close, stream.fd);
}

/* A connection by which the supervisor has been told of an event; below 0: it is gone. */
static int begin_to_tell(uint32_t event, uint32_t value) {
    struct ip_native_greeting greeting = new_greeting(event, value);
    int fd = ip_native_connect(ip_native_setup->socket);
    if (fd >= 0) sys6(SYS_sendto, fd, (long)&greeting, sizeof greeting, IP_NATIVE_NOSIGNAL, 0, 0);
    return fd;
}

void ip_native_tell(uint32_t event, uint32_t value) {
    struct ip_native_head head;
    int fd = begin_to_tell(event, value);
    if (fd < 0) return;
    while (sys3(SYS_read, fd, (long)&head, sizeof head) == -4 /* EINTR */);
    sys1(SYS_close, fd);
}

/* ---- what the agent calls ----------------------------------------------------------------------- */

IP_PUBLIC void ip_native_start(const struct ip_native_setup *setup);
IP_PUBLIC const struct ip_native_setup *ip_native_setup_of(void);
IP_PUBLIC void ip_native_linked(void);
IP_PUBLIC void ip_native_stop(void);
IP_PUBLIC void ip_native_discard(void);
IP_PUBLIC void ip_native_fork(void);
IP_PUBLIC void ip_native_in_parent(void);
IP_PUBLIC void ip_native_in_child(void);
IP_PUBLIC int64_t ip_native_thread_offset(void);
IP_PUBLIC void ip_native_close(const int32_t *descriptors, uint64_t count);

void ip_native_start(const struct ip_native_setup *setup) {
    ip_native_setup = setup;
    if (setup->hooks[0]) ip_native_hooks_start();
}

const struct ip_native_setup *ip_native_setup_of(void) { return ip_native_setup; }

/* The dynamic linker calls its debugger's function before and after each change. */
void ip_native_linked(void) {
    const struct r_debug *debug = (const struct r_debug *)ip_native_setup->debug;
    int busy = 0, leaving = 0;
    for (const struct r_debug *each = debug; each; each = next_namespace(each)) {
        busy |= each->r_state != RT_CONSISTENT;
        leaving |= each->r_state == RT_DELETE;
    }
    ip_native_lock();
    if (leaving)
        ip_native_pause(1);
    else if (!busy) {
        report();
        ip_native_pause(0);
    }
    ip_native_unlock();
}

/* Every function is as it was. */
void ip_native_stop(void) {
    ip_native_lock();
    while (ip_native_bound) ip_native_unbind(ip_native_bindings[ip_native_bound - 1].address, 0);
    ip_native_hooks_stop();
    ip_native_unlock();
}

/* The last that is called here: no thread is in a thunk any more. */
void ip_native_discard(void) { ip_native_unmap_all(); }

static int forking = -1; /* the parent may end before the child has told of itself: this keeps the supervisor waiting */

/* The handlers of a fork (pthread_atfork): the child's only thread finds everything as it should be, and can use the
 * script, whose lock nobody else had. */
void ip_native_fork(void) {
    ip_native_lock();
    ip_native_setup->wait();
    parent = (uint32_t)sys0(SYS_getpid);
    forking = begin_to_tell(IP_NATIVE_FORKS, 0);
    ip_native_hooks_fork();
}

static void end_of_fork(void) {
    if (forking >= 0) sys1(SYS_close, forking);
    forking = -1;
}

void ip_native_in_parent(void) {
    ip_native_hooks_in_parent();
    end_of_fork();
    ip_native_unlock();
}

void ip_native_in_child(void) {
    ip_native_take_over();
    ip_native_hooks_in_child();
    ip_native_tell(IP_NATIVE_FORKED, parent);
    end_of_fork();
    ip_native_unlock();
}

int64_t ip_native_thread_offset(void) { return ip_native_offset(&ip_native_thread.passes); }

void ip_native_close(const int32_t *descriptors, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) sys1(SYS_close, descriptors[i]);
}

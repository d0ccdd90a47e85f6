/* Notes of the program's descriptors, in this process's memory: a fork copies them, and who reads them (the supervisor)
 * does so when there is something to say.  One for each number of each table of descriptors; all that was said of a
 * number before it was given again is forgotten. */
#include "runtime/syscalls/fd_notes.h"

#define PIECE      65536u
#define TEXT_LEAST 64u

static rt_lock_t lock;
static struct ip_fds notes;
static u64 clock; /* counts what happens */
static struct ip_fd **buckets;
static u32 n_buckets, n_used; /* a power of two */
static struct ip_fd *free_notes;
static u8 *piece;
static u32 piece_left;

struct ip_fds *fd_notes(void) { return &notes; }

static void change(bool begin) {
    if (begin) rt_lock(&lock);
    __atomic_add_fetch(&notes.version, 1, __ATOMIC_SEQ_CST);
    if (!begin) rt_unlock(&lock);
}

void fd_notes_hold(bool hold) {
    if (hold)
        rt_lock(&lock);
    else
        rt_unlock(&lock);
}

/* Memory that stays: a note keeps what it has for the next number that it is of. */
static void *memory(u32 bytes) {
    bytes = (u32)RT_ROUND_UP(bytes, 8);
    if (bytes > PIECE / 4) return rt_pages(RT_ROUND_UP(bytes, RT_PAGE));
    if (piece_left < bytes) {
        piece = rt_pages(PIECE);
        piece_left = PIECE;
    }
    piece_left -= bytes;
    return piece + piece_left;
}

static struct ip_fd **bucket(u32 files, int fd) {
    u64 key = (u64)files << 32 | (u32)fd;
    return &buckets[(key ^ key >> 29) * 0x9e3779b97f4a7c15ull >> 32 & (n_buckets - 1)];
}

static struct ip_fd *find(u32 files, int fd) {
    if (!n_buckets) return NULL;
    struct ip_fd *d = *bucket(files, fd);
    while (d && (d->number != fd || d->files != files)) d = (struct ip_fd *)d->next;
    return d;
}

static void grow(void) {
    u32 before = n_buckets;
    struct ip_fd **old = buckets;
    n_buckets = before ? before * 2 : 512;
    buckets = rt_pages(n_buckets * sizeof *buckets);
    for (u32 i = 0; i < before; i++)
        for (struct ip_fd *d = old[i], *next; d; d = next) {
            struct ip_fd **to = bucket(d->files, d->number);
            next = (struct ip_fd *)d->next;
            d->next = (u64)*to;
            *to = d;
        }
    if (old) rt_free_pages(old, before * sizeof *old);
}

static struct ip_fd *unused(void) {
    struct ip_fd *d = free_notes;
    if (d) {
        free_notes = (struct ip_fd *)d->next;
        return d;
    }
    struct ip_fd_chunk *c = (struct ip_fd_chunk *)notes.chunks;
    if (!c || c->used == sizeof c->fd / sizeof c->fd[0]) {
        struct ip_fd_chunk *next = rt_pages(RT_ROUND_UP(sizeof *next, RT_PAGE));
        next->next = (u64)c;
        notes.chunks = (u64)next;
        c = next;
    }
    return &c->fd[c->used++];
}

/* The note of a number, which is made if there is none. */
static struct ip_fd *note(u32 files, int fd) {
    struct ip_fd *d = find(files, fd);
    if (d) return d;
    if (n_used >= n_buckets) grow();
    d = unused();
    n_used++;
    d->number = fd;
    d->files = files;
    d->state = IP_FD_NEVER;
    d->inherited = 0;
    d->opened = d->closed = 0;
    d->domain = -1;
    d->name_bytes = d->peer_bytes = d->path_bytes = 0;
    d->n_opened = d->n_closed = 0;
    struct ip_fd **b = bucket(files, fd);
    d->next = (u64)*b;
    *b = d;
    return d;
}

static void describe(struct ip_fd *d, int domain, u32 name, u32 peer, u32 path, const void *bytes) {
    u32 all = name + peer + path;
    if (d->text_room < all) {
        u32 room = TEXT_LEAST;
        while (room < all) room *= 2;
        d->text = (u64)memory(room);
        d->text_room = room;
    }
    d->domain = domain;
    d->name_bytes = name;
    d->peer_bytes = peer;
    d->path_bytes = path;
    if (all) memcpy((void *)d->text, bytes, all);
}

static void describe_as(struct ip_fd *d, const struct fd_text *t) {
    describe(d, t->domain, t->name_bytes, t->peer_bytes, t->path_bytes, t->bytes);
}

/* Room for two stack traces of n frames. */
static u64 *frames_for(struct ip_fd *d, u32 n) {
    if (d->limit < n) {
        u32 limit = (u32)rt.chan->num_callers;
        if (limit > IP_FD_FRAMES) limit = IP_FD_FRAMES;
        if (limit < n) limit = n;
        u64 *to = memory(limit * 16);
        if (d->limit) memcpy(to, (const void *)d->frames, d->n_opened * 8ull);
        d->frames = (u64)to;
        d->limit = limit;
    }
    return (u64 *)d->frames;
}

static void opened_there(struct ip_fd *d, const u64 *frames, u32 n) {
    d->n_opened = d->n_closed = 0;
    memcpy(frames_for(d, n), frames, n * 8ull);
    d->n_opened = n;
}

static void closed_there(struct ip_fd *d, const u64 *frames, u32 n) {
    d->n_closed = 0;
    u64 *to = frames_for(d, n);
    memcpy(to + d->limit, frames, n * 8ull);
    d->n_closed = n;
}

/* A file keeps the name by which it was opened, whatever has become of it; a socket may have got addresses. */
static void describe_anew(struct ip_fd *d, const struct fd_text *t) {
    if (d->state != IP_FD_OPEN || d->domain >= 0 || t->domain >= 0 || !d->path_bytes) describe_as(d, t);
}

void fd_note_inherited(u32 files, int fd, const struct fd_text *text) {
    change(true);
    struct ip_fd *d = note(files, fd);
    d->state = IP_FD_OPEN;
    d->inherited = 1;
    d->opened = ++clock;
    describe_as(d, text);
    change(false);
}

void fd_note_opened(u32 files, int fd, const struct fd_text *text, const struct fd_stack *where) {
    change(true);
    struct ip_fd *d = note(files, fd);
    d->state = IP_FD_OPEN;
    d->inherited = 0;
    d->opened = ++clock;
    d->closed = 0;
    describe_as(d, text);
    opened_there(d, where->frames, where->n);
    change(false);
}

void fd_note_closing(u32 files, int fd, const struct fd_text *text, const struct fd_stack *where) {
    change(true);
    struct ip_fd *d = note(files, fd);
    describe_anew(d, text);
    if (d->state != IP_FD_OPEN) {
        d->opened = d->n_opened = 0;
        d->inherited = 0;
    }
    d->state = IP_FD_CLOSED;
    d->closed = ++clock;
    closed_there(d, where->frames, where->n);
    change(false);
}

void fd_note_changed(u32 files, int fd, const struct fd_text *text) {
    change(true);
    struct ip_fd *d = find(files, fd);
    if (d && d->state == IP_FD_OPEN) describe_anew(d, text);
    change(false);
}

struct ip_fd *fd_note_gone(u32 files, int fd) {
    change(true);
    struct ip_fd *d = find(files, fd);
    if (d && d->state == IP_FD_OPEN) {
        d->state = IP_FD_CLOSED;
        d->closed = d->n_closed = 0;
    }
    change(false);
    return d;
}

void fd_note_copy(u32 from, u32 to) {
    change(true);
    /* What is copied may lie before it or behind, and is of another table. */
    for (struct ip_fd_chunk *c = (struct ip_fd_chunk *)notes.chunks; c; c = (struct ip_fd_chunk *)c->next)
        for (u64 i = 0; i < c->used; i++) {
            const struct ip_fd *d = &c->fd[i];
            if (d->files != from || d->state == IP_FD_NEVER) continue;
            struct ip_fd *copy = note(to, d->number);
            copy->state = d->state;
            copy->inherited = d->inherited;
            copy->opened = d->opened;
            copy->closed = d->closed;
            describe(copy, d->domain, d->name_bytes, d->peer_bytes, d->path_bytes, (const void *)d->text);
            opened_there(copy, (const u64 *)d->frames, d->n_opened);
            closed_there(copy, (const u64 *)d->frames + d->limit, d->n_closed);
        }
    change(false);
}

void fd_note_drop(u32 files) {
    change(true);
    for (u32 i = 0; i < n_buckets; i++)
        for (struct ip_fd **at = &buckets[i], *d; (d = *at) != NULL;) {
            if (d->files != files) {
                at = (struct ip_fd **)(void *)&d->next;
                continue;
            }
            *at = (struct ip_fd *)d->next;
            d->state = IP_FD_NEVER;
            d->next = (u64)free_notes;
            free_notes = d;
            n_used--;
        }
    change(false);
}

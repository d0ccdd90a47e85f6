#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tools/datagrind/datagrind_abi.h"
#include "tools/datagrind/write/write.h"

#define PAGE  4096u /* what lies at multiples of this, in memory and in the file, may go past the kernel's cache */
#define STAGE 0x400000u
#define TRIED 0x2000000u
#define SLOW  400u /* bytes a microsecond: a slower disk is left to the kernel's cache, which takes some seconds in */

static void go_direct(struct dg_writer *w, bool wanted) {
    int flags = w->flags | (wanted ? O_DIRECT : 0);
    w->direct = fcntl(w->fd, F_SETFL, flags) == 0 && wanted; /* not every file system has such a way */
}

struct dg_writer *dg_writer_new(int fd, int regular) {
    struct dg_writer *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->fd = fd;
    w->flags = fcntl(fd, F_GETFL) & ~O_DIRECT;
    w->regular = regular;
    if (regular && posix_memalign((void **)&w->stage, PAGE, STAGE + DG_PIECE) != 0) w->stage = NULL;
    return w;
}

/* All of it; false: w->error says why not. */
static bool write_all(struct dg_writer *w, const uint8_t *data, uint64_t n) {
    while (n && !w->error) {
        ssize_t count = write(w->fd, data, n);
        if (count < 0) {
            if (errno != EINTR) w->error = errno;
            continue;
        }
        w->size += (uint64_t)count;
        data += count;
        n -= (uint64_t)count;
    }
    return n == 0;
}

/* Bytes of the record there, of which n bytes are; 0: it is not whole. */
static uint64_t record(const uint8_t *data, uint64_t n) {
    if (n < 2) return 0;
    uint64_t head = 2, length = data[1];
    if (length == 255) {
        if (n < 10) return 0;
        memcpy(&length, data + 2, 8);
        head = 10;
    }
    return n >= head && n - head >= length ? head + length : 0;
}

/* The first records, until they reach n of the bytes. */
static uint64_t records_upto(const uint8_t *data, uint64_t n, uint64_t bytes) {
    uint64_t at = 0, next;
    while (at < n && (next = record(data + at, bytes - at))) at += next;
    return at;
}

uint64_t dg_whole_records(const uint8_t *data, uint64_t n) { return records_upto(data, n, n); }

/* Whole records, by the kernel's cache. */
static void put_through(struct dg_writer *w, const uint8_t *data, uint64_t n) {
    uint64_t start = w->size;
    if (write_all(w, data, n)) {
        w->whole = w->size;
    } else {
        w->whole = start + dg_whole_records(data, w->size - start);
    }
}

/* The stage goes to the file by its cache. */
static void leave_stage(struct dg_writer *w) {
    uint64_t start = w->size;
    go_direct(w, false);
    if (write_all(w, w->stage, w->staged)) {
        w->whole = w->size;
    } else if (w->size - start > w->first) {
        w->whole = start + w->first + dg_whole_records(w->stage + w->first, w->size - start - w->first);
    }
    w->staged = w->first = 0;
}

static void drop_staged(struct dg_writer *w, uint64_t n) {
    memmove(w->stage, w->stage + n, w->staged - n);
    w->staged -= n;
}

/* The stage's whole pages go past the cache. */
static void put_stage(struct dg_writer *w) {
    uint64_t start = w->size, n = w->staged / PAGE * PAGE, first = w->first;
    struct timespec before, after;
    /* The first record that begins behind these pages, which may cut the one before it. */
    if (first < n) first += records_upto(w->stage + first, n - first, w->staged - first);
    clock_gettime(CLOCK_MONOTONIC, &before);
    bool went = write_all(w, w->stage, n);
    clock_gettime(CLOCK_MONOTONIC, &after);
    w->took += (uint64_t)((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec);
    n = w->size - start;
    if (w->first < n) w->whole = start + w->first + dg_whole_records(w->stage + w->first, n - w->first);
    drop_staged(w, n);
    w->first = first > n ? first - n : 0;
    bool slow = w->size <= TRIED && w->size + STAGE > TRIED && w->took > w->size * 1000 / SLOW;
    if (went && !slow) return;
    w->error = 0; /* told by the usual way, if it is the file and not the way */
    leave_stage(w);
}

void dg_writer_put(struct dg_writer *w, const uint8_t *data, uint64_t n) {
    if (w->error) return;
    if (!w->direct || n > DG_PIECE) {
        put_through(w, data, n);
        return;
    }
    memcpy(w->stage + w->staged, data, n);
    w->staged += n;
    if (w->staged >= STAGE) put_stage(w);
}

static void ring(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

static struct dg_mailbox *mailbox_of(uint8_t *shared) { return (struct dg_mailbox *)(void *)(shared + DG_MAILBOX); }

/* The program may have written anything there. */
static void put_part(struct dg_writer *w, const uint8_t *shared, uint64_t at, uint64_t n) {
    if (at <= DG_MAILBOX && n <= DG_MAILBOX - at && n <= DG_PIECE) dg_writer_put(w, shared + at, n);
}

static void put_entry(struct dg_writer *w, uint8_t *shared, struct dg_mailbox *m) {
    struct dg_entry e = m->queue[m->written % DG_QUEUE];
    put_part(w, shared, e.at, e.bytes);
    if (w->error) __atomic_store_n(&m->stopped, 1, __ATOMIC_SEQ_CST);
    if (e.done && e.done <= DG_PIECES) __atomic_fetch_or(&m->free, 1ull << (e.done - 1), __ATOMIC_SEQ_CST);
    __atomic_store_n(&m->written, m->written + 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&m->progress, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&m->waiting, 0, __ATOMIC_SEQ_CST)) ring(&m->progress);
}

void dg_writer_run(struct dg_writer *w, uint8_t *shared) {
    struct dg_mailbox *m = mailbox_of(shared);
    if (w->stage && w->size == 0) go_direct(w, true);
    for (;;) {
        uint32_t seen = __atomic_load_n(&m->bell, __ATOMIC_SEQ_CST);
        int ending = __atomic_load_n(&w->ending, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&m->queued, __ATOMIC_SEQ_CST) != m->written) put_entry(w, shared, m);
        if (ending) break;
        __atomic_store_n(&m->sleeping, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &m->bell, FUTEX_WAIT, seen, NULL, NULL, 0);
        __atomic_store_n(&m->sleeping, 0, __ATOMIC_SEQ_CST);
    }
    for (int i = 0; w->ending == 2 && i < DG_PLACES; i++) {
        uint64_t from = m->unqueued[i] >> 32, to = (uint32_t)m->unqueued[i];
        if (to > from) put_part(w, shared, from, to - from);
    }
}

void dg_ring(uint8_t *shared) {
    struct dg_mailbox *m = mailbox_of(shared);
    __atomic_fetch_add(&m->bell, 1, __ATOMIC_SEQ_CST);
    ring(&m->bell);
}

void dg_writer_close(struct dg_writer *w) {
    if (w->direct && !w->error) leave_stage(w);
    if (w->regular && w->size > w->whole && ftruncate(w->fd, (off_t)w->whole) == 0) w->size = w->whole;
    free(w->stage);
    w->stage = NULL;
}

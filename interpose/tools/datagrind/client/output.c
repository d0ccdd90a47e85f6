/* The way to the file: pieces of memory that the supervisor has, too, and writes in the order in which they are queued.
 *
 * Each thread fills a piece of its own, and what it writes there is not copied any more.  The piece that is taken next
 * is the first one that is free: where the file takes what comes, few are in use, and they stay in the cache.
 * Definitions have a piece of their own, of which what there is is queued before any thread's: so definitions come
 * first.  Threads beyond the first ones fill memory of their own, which is copied there.
 */
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/mman.h>

#include "runtime/core/core.h"
#include "tools/datagrind/client/datagrind.h"

_Static_assert((u64)DG_PIECE *DG_PIECES <= DG_MAILBOX && DG_PIECES == 64, "the mailbox is behind the last piece");
_Static_assert(DG_MAILBOX + sizeof(struct dg_mailbox) <= DG_SHARED, "the mailbox has room");
#define LENGTH_OF(field) (sizeof((struct dg_mailbox *)0)->field / sizeof((struct dg_mailbox *)0)->field[0])
_Static_assert(LENGTH_OF(unqueued) == DG_PLACES && LENGTH_OF(queue) == DG_QUEUE && LENGTH_OF(mail) == DG_MAIL,
               "as the numbers say");
_Static_assert(DG_PLACES == DG_OWNERS + 1 && DG_OWNERS < DG_PIECES - 2, "some pieces are nobody's");
_Static_assert(DG_MAIL <= DG_PIECE && DG_OUT <= DG_PIECE, "what is put at a time fits into a piece");

#define WAKE 0x80000 /* bytes that are worth waking who writes */

struct dg_state dg;

static u8 *shared;                 /* NULL: none yet */
static struct dg_mailbox *mailbox; /* in the shared memory, or of our own */
static bool has_writer;            /* it is in the shared memory */
static u8 *begin, *at,
    *end;           /* of what all threads need: first byte that is not queued; the next one; the piece's end */
static u32 unwoken; /* bytes that were queued since who writes was woken */
static u32 n_owners;
static u64 owners; /* whose places in unqueued are taken */

u8 *dg_head(u8 *to, u32 type, u64 length) {
    *to++ = (u8)type;
    if (length < 255) {
        *to++ = (u8)length;
        return to;
    }
    *to++ = 255;
    __builtin_memcpy(to, &length, 8);
    return to + 8;
}

/* A request of ours, in the name of whoever runs here. */
static u64 ask(u64 code, u64 a, u64 b, u64 c) {
    struct tstate *ts = rt_current();
    struct ip_slot *s = rt_slot(ts);
    u64 words[6] = {code, a, b, c, 0, 0};
    s->a[0] = ~0ull;
    s->a[1] = ts->pc;
    s->a[2] = ts->gpr[IP_RSP];
    s->r[2] = 0;
    memcpy(s->data, words, sizeof words);
    s->len = sizeof words;
    rt_request_python(ts, IP_R_REQUEST);
    return s->r[0];
}

static void stop(void) {
    if (!dg.stopped && has_writer) ask(DG_RQ_STOPPED, 0, 0, 0);
    dg.stopped = true;
}

static void wake_writer(void) {
    unwoken = 0;
    if (!has_writer) return;
    __atomic_fetch_add(&mailbox->bell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&mailbox->sleeping, __ATOMIC_SEQ_CST)) sys3(__NR_futex, (long)&mailbox->bell, FUTEX_WAKE, 1);
}

static u32 n_queued(void) { return mailbox->queued - __atomic_load_n(&mailbox->written, __ATOMIC_ACQUIRE); }

/* Until there is a free piece, and room in the queue; false: nothing more is written. */
static bool wait_for_room(void) {
    while (!dg.stopped) {
        u32 seen = __atomic_load_n(&mailbox->progress, __ATOMIC_SEQ_CST);
        __atomic_store_n(&mailbox->waiting, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&mailbox->stopped, __ATOMIC_SEQ_CST)) stop();
        if (__atomic_load_n(&mailbox->free, __ATOMIC_SEQ_CST) && n_queued() < DG_QUEUE) return !dg.stopped;
        if (dg.stopped) break;
        wake_writer();
        sys4(__NR_futex, (long)&mailbox->progress, FUTEX_WAIT, seen, 0);
    }
    return false;
}

static u8 *take_piece(void) {
    u64 free = __atomic_load_n(&mailbox->free, __ATOMIC_ACQUIRE);
    if (!free && !wait_for_room()) return NULL;
    u64 number = (u64)__builtin_ctzll(__atomic_load_n(&mailbox->free, __ATOMIC_ACQUIRE));
    __atomic_fetch_and(&mailbox->free, ~(1ull << number), __ATOMIC_ACQUIRE);
    return shared + number * DG_PIECE;
}

/* Records lie there, up to `to`; done: all of this piece has been queued, or NULL. */
static void queue(const u8 *from, const u8 *to, const u8 *done) {
    u64 n = (u64)(to - from), piece = done ? (u64)(done - shared) / DG_PIECE : 0;
    if (!n && !done) return;
    if (!has_writer) {
        if (n && !dg.stopped && ask(DG_RQ_BYTES, (u64)from, n, 0) != 0) dg.stopped = true;
        if (done) mailbox->free |= 1ull << piece;
        return;
    }
    if (__atomic_load_n(&mailbox->stopped, __ATOMIC_RELAXED)) stop();
    if (n_queued() == DG_QUEUE && !wait_for_room()) return;
    mailbox->queue[mailbox->queued % DG_QUEUE] =
        (struct dg_entry){(u32)(from - shared), (u32)n, done ? 1 + (u32)piece : 0};
    __atomic_store_n(&mailbox->queued, mailbox->queued + 1, __ATOMIC_RELEASE);
    unwoken += (u32)n;
    if (unwoken >= WAKE) wake_writer();
}

static void tell_unqueued(u32 place, const u8 *from, const u8 *to) {
    u64 both = (u64)(from - shared) << 32 | (u64)(to - shared);
    __atomic_store_n(&mailbox->unqueued[place], both, __ATOMIC_RELEASE);
}

/* ---- What all threads need ------------------------------------------------------------------ */

static void make_shared(void) {
    static struct dg_mailbox own;
    static const u8 header[] = "\0\x0e"
                               "DATAGRIND1\0\1\0\x08";
    long fd = rt_memory_file("interpose-datagrind", DG_SHARED);
    has_writer = false;
    if (fd >= 0) {
        long mapped = rt_own_map(DG_SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd);
        if (mapped > 0) {
            mailbox = (struct dg_mailbox *)(mapped + DG_MAILBOX);
            mailbox->free = ~0ull;
            has_writer = ask(DG_RQ_ATTACH, (u64)fd, 0, 0) == 0;
        }
        if (has_writer) {
            shared = (u8 *)mapped;
            sys3(__NR_madvise, mapped, DG_SHARED, MADV_DONTDUMP);
            sys3(__NR_madvise, mapped, DG_SHARED, MADV_DONTFORK);
        } else if (mapped > 0) {
            sys2(__NR_munmap, mapped, DG_SHARED);
        }
        sys1(__NR_close, fd);
    }
    if (!has_writer) {
        shared = rt_pages(DG_MAILBOX);
        mailbox = &own;
        mailbox->free = ~0ull;
    }
    begin = at = take_piece();
    end = begin + DG_PIECE;
    memcpy(at, header, sizeof header - 1);
    at += sizeof header - 1;
}

static void queue_common(void) {
    const u8 *from = begin;
    begin = at;
    tell_unqueued(0, begin, at);
    queue(from, at, NULL);
}

/* Room for n bytes at `at`. */
static void need(u64 n) {
    if ((u64)(end - at) >= n) return;
    tell_unqueued(0, at, at);
    queue(begin, at, end - DG_PIECE);
    u8 *piece = take_piece();
    if (!piece) piece = end - DG_PIECE; /* what is written there goes nowhere */
    begin = at = piece;
    end = begin + DG_PIECE;
}

static void take_mail(void) {
    u64 taken = mailbox->taken, n = __atomic_load_n(&mailbox->put, __ATOMIC_ACQUIRE) - taken;
    need(n);
    for (u64 i = 0; i < n; i++) at[i] = mailbox->mail[(taken + i) % DG_MAIL];
    at += n;
    __atomic_store_n(&mailbox->taken, taken + n, __ATOMIC_RELEASE);
}

static void ready(void) {
    if (!shared) make_shared();
    if (mailbox->put != mailbox->taken) take_mail();
}

u8 *dg_definition(u32 type, u64 length) {
    ready();
    need(length + 10);
    u8 *payload = dg_head(at, type, length);
    at = payload + length;
    return payload;
}

void dg_definitions_put(void) {
    if (shared && !dg.stopped) tell_unqueued(0, begin, at);
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static void fill_from(struct dg_thread *t, u8 *from, u8 *to) {
    t->out_begin = from;
    t->out = to;
}

static u8 *piece_of(const struct dg_thread *t) { return t->out_limit - (DG_OUT - DG_RUN_BYTES); }

void dg_begin(struct dg_thread *t) {
    rt_lock(&dg.lock);
    ready();
    u8 *piece = n_owners < DG_OWNERS ? take_piece() : NULL;
    if (piece) {
        t->owner = 1 + (u32)__builtin_ctzll(~owners);
        owners |= 1ull << (t->owner - 1);
        n_owners++;
    } else {
        if (!t->copied) t->copied = rt_pages(DG_OUT);
        piece = t->copied;
        t->owner = 0;
    }
    fill_from(t, piece, piece);
    t->out_limit = piece + DG_OUT - DG_RUN_BYTES;
    rt_unlock(&dg.lock);
}

void dg_filled(const struct dg_thread *t) {
    if (t->owner) tell_unqueued(t->owner, t->out_begin, t->out);
}

void dg_emit(struct dg_thread *t) {
    const u8 *from = t->out_begin;
    u64 n = (u64)(t->out - from);
    if (!n) return;
    rt_lock(&dg.lock);
    ready();
    if (!t->owner) {
        need(n);
        memcpy(at, from, n);
        at += n;
        tell_unqueued(0, begin, at);
        fill_from(t, t->copied, t->copied);
    } else {
        bool full = t->out >= t->out_limit;
        queue_common();
        tell_unqueued(t->owner, t->out, t->out);
        queue(from, t->out, full ? piece_of(t) : NULL);
        u8 *piece = full ? take_piece() : t->out;
        if (!piece) piece = t->copied ? t->copied : (t->copied = rt_pages(DG_OUT));
        fill_from(t, piece, piece);
        if (full) t->out_limit = piece + DG_OUT - DG_RUN_BYTES;
    }
    rt_unlock(&dg.lock);
}

void dg_end(struct dg_thread *t) {
    if (!t->out) return;
    dg_emit(t);
    rt_lock(&dg.lock);
    if (t->owner) {
        tell_unqueued(t->owner, shared, shared);
        if (!dg.stopped) queue(t->out, t->out, piece_of(t));
        owners &= ~(1ull << (t->owner - 1));
        n_owners--;
    }
    rt_unlock(&dg.lock);
    fill_from(t, NULL, NULL);
}

void dg_send(void) {
    rt_lock(&dg.lock);
    ready();
    queue_common();
    wake_writer();
    rt_unlock(&dg.lock);
}

void dg_output_after_fork(void) {
    if (shared && !has_writer) rt_free_pages(shared, DG_MAILBOX);
    shared = NULL;
    mailbox = NULL;
    n_owners = 0;
    owners = 0;
    unwoken = 0;
    dg.stopped = false;
}

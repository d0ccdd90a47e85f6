/* The way to the file: chunks of memory that the supervisor has, too, and writes.
 *
 * Each thread fills a buffer of its own, which stays in the cache, and is copied whole: single stores to fresh memory
 * would cost more than the copy.  A definition is put before the first run that uses it, by whoever holds the lock, so
 * definitions are always first.
 */
#include <asm/unistd.h>
#include <linux/memfd.h>
#include <linux/mman.h>

#include "runtime/core/core.h"
#include "tools/datagrind/client/datagrind.h"

_Static_assert(DG_CHUNK *DG_CHUNKS + DG_SLACK == DG_MAILBOX, "the mailbox is behind the last chunk's slack");
_Static_assert(sizeof(struct dg_mailbox) == DG_MAIL_HEAD, "as the supervisor writes it");
_Static_assert(DG_MAILBOX + DG_MAIL_HEAD + DG_MAIL <= DG_SHARED, "the mailbox has room");
_Static_assert(DG_DEFINITIONS + DG_RUN_BYTES <= DG_SLACK && DG_OUT <= DG_SLACK && DG_MAIL <= DG_SLACK,
               "what is put at a time goes behind a full chunk");

struct dg_state dg;

static u8 definitions[DG_DEFINITIONS]; /* that are to be put before the run under way */
static u8 *shared;                     /* DG_SHARED bytes, or one chunk with its slack */
static struct dg_mailbox *mailbox;     /* NULL: the supervisor does not have them */
static u32 chunk;                      /* the one being filled */
static u8 *begin, *at, *end;           /* its first byte, the next byte, behind its last one */

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
    rt_memcpy(s->data, words, sizeof words);
    s->len = sizeof words;
    rt_request_python(ts, IP_R_REQUEST);
    return s->r[0];
}

static void use_chunk(u32 number) {
    chunk = number;
    begin = at = shared + (u64)number * DG_CHUNK;
    end = begin + DG_CHUNK;
}

static void make_shared(void) {
    static const u8 header[] = "\0\x0e"
                               "DATAGRIND1\0\1\0\x08";
    long fd = sys2(__NR_memfd_create, (long)"interpose-datagrind", MFD_CLOEXEC);
    if (fd >= 0 && sys2(__NR_ftruncate, fd, DG_SHARED) == 0) {
        long mapped = rt_own_map(DG_SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd);
        if (mapped > 0 && ask(DG_RQ_ATTACH, (u64)fd, 0, 0) == 0) {
            shared = (u8 *)mapped;
            mailbox = (struct dg_mailbox *)(mapped + DG_MAILBOX);
            sys3(__NR_madvise, mapped, DG_SHARED, MADV_DONTDUMP);
            sys3(__NR_madvise, mapped, DG_SHARED, MADV_DONTFORK);
        } else if (mapped > 0) {
            sys2(__NR_munmap, mapped, DG_SHARED);
        }
    }
    if (fd >= 0) sys1(__NR_close, fd);
    if (!shared) shared = rt_pages(DG_CHUNK + DG_SLACK);
    use_chunk(0);
    rt_memcpy(at, header, sizeof header - 1);
    at += sizeof header - 1;
}

/* The chunk's first n bytes; whole: how many of them are whole records. */
static void send_chunk(u64 n, u64 whole) {
    u64 more = (u64)(at - begin) - n;
    const u8 *rest = begin + n;
    if (!dg.stopped) dg.stopped = ask(DG_RQ_CHUNK, chunk, n, whole) != 0;
    use_chunk((chunk + 1) % DG_CHUNKS);
    if (chunk == 0) rt_memcpy(at, rest, more); /* of the others, it is there */
    at += more;
}

static void send_bytes(void) {
    if (!dg.stopped) dg.stopped = ask(DG_RQ_BYTES, (u64)begin, (u64)(at - begin), 0) != 0;
    use_chunk(0);
}

/* Records lie from at to to; before at there are whole ones, too. */
static void put_upto(u8 *to) {
    u64 whole = (u64)(at - begin);
    at = to;
    if (at < end) return;
    if (mailbox)
        send_chunk(DG_CHUNK, at == end ? DG_CHUNK : whole);
    else
        send_bytes();
}

static void put(const u8 *from, u64 n) {
    rt_memcpy(at, from, n);
    put_upto(at + n);
}

static void take_mail(void) {
    u64 taken = mailbox->taken, n = __atomic_load_n(&mailbox->put, __ATOMIC_ACQUIRE) - taken;
    for (u64 i = 0; i < n; i++) at[i] = ((const u8 *)(mailbox + 1))[(taken + i) % DG_MAIL];
    __atomic_store_n(&mailbox->taken, taken + n, __ATOMIC_RELEASE);
    put_upto(at + n);
}

static void ready(void) {
    if (!shared) make_shared();
    if (mailbox && mailbox->put != mailbox->taken) take_mail();
}

static void placed(void) {
    if (mailbox) __atomic_store_n(&mailbox->filled, (u64)chunk << 32 | (u64)(at - begin), __ATOMIC_RELEASE);
}

/* ---- Definitions ------------------------------------------------------------------------- */

u8 *dg_definition(u32 type, u64 length) {
    u8 *to = definitions + dg.n_definitions, *payload = dg_head(to, type, length);
    dg.n_definitions += (u32)(payload + length - to);
    return payload;
}

void dg_definitions_put(void) {
    ready();
    put(definitions, dg.n_definitions);
    dg.n_definitions = 0;
    placed();
}

/* ---- Runs ---------------------------------------------------------------------------------- */

void dg_emit(struct dg_thread *t) {
    if (t->out == t->out_begin) return;
    rt_lock(&dg.lock);
    ready();
    put(t->out_begin, (u64)(t->out - t->out_begin));
    placed();
    rt_unlock(&dg.lock);
    t->out = t->out_begin;
}

void dg_send(void) {
    rt_lock(&dg.lock);
    ready();
    u64 n = (u64)(at - begin);
    if (n && mailbox)
        send_chunk(n, n);
    else if (n)
        send_bytes();
    placed();
    rt_unlock(&dg.lock);
}

void dg_output_after_fork(void) {
    if (shared && !mailbox) rt_free_pages(shared, DG_CHUNK + DG_SLACK);
    shared = NULL;
    mailbox = NULL;
    dg.n_definitions = 0;
    dg.stopped = false;
}

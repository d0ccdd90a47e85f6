/* The way to the file: definitions and runs go, in an order that the format allows, into chunks of memory that the
 * supervisor has, too, and writes.
 *
 * A definition is made before the first run that uses it, and a thread's runs are put behind all definitions there are
 * by then; so whatever order threads come in, definitions are first.
 */
#include <asm/unistd.h>
#include <linux/memfd.h>
#include <linux/mman.h>

#include "runtime/core/core.h"
#include "tools/datagrind/client/datagrind.h"

#define DEFINITIONS (1u << 20)
#define LONGEST     (64u << 10) /* no definition is longer */

struct dg_state dg;

static u8 *definitions;
static u32 n_definitions; /* bytes */
static u8 *shared;        /* DG_SHARED bytes */
static bool attached;     /* the supervisor has them */
static u32 chunk;         /* the one being filled */
static u64 filled;        /* bytes in it */

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

/* A request of ours, in the name of whoever runs here, who may have begun to fill the slot for another one. */
static u64 ask(u64 code, u64 a, u64 b, u64 c) {
    struct tstate *ts;
    __asm__("mov %%fs:0xd0, %0" : "=r"(ts));
    struct ip_slot *s = rt_slot(ts);
    u64 words[6] = {code, a, b, c, 0, 0}, data[6], head[8];
    u32 len = s->len;
    rt_memcpy(head, s->a, sizeof head);
    rt_memcpy(data, s->data, sizeof data);
    s->a[0] = ~0ull;
    s->a[1] = ts->pc;
    s->a[2] = ts->gpr[IP_RSP];
    s->r[2] = 0;
    rt_memcpy(s->data, words, sizeof words);
    s->len = sizeof words;
    rt_request_python(ts, IP_R_REQUEST);
    rt_memcpy(s->a, head, sizeof head);
    rt_memcpy(s->data, data, sizeof data);
    s->len = len;
    return s->r[0];
}

static void make_shared(void) {
    long fd = sys2(__NR_memfd_create, (long)"interpose-datagrind", MFD_CLOEXEC);
    attached = false;
    if (fd >= 0 && sys2(__NR_ftruncate, fd, DG_SHARED) == 0) {
        long at = rt_own_map(DG_SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd);
        if (at > 0) {
            shared = (u8 *)at;
            sys3(__NR_madvise, at, DG_SHARED, MADV_DONTDUMP);
            sys3(__NR_madvise, at, DG_SHARED, MADV_DONTFORK);
            attached = ask(DG_RQ_ATTACH, (u64)fd, 0, 0) == 0;
        }
    }
    if (fd >= 0) sys1(__NR_close, fd);
    if (!shared) shared = rt_pages(DG_CHUNK);
}

/* whole: bytes of the chunk that are whole records. */
static void send_chunk(u64 whole) {
    if (filled && !dg.stopped) {
        if (attached)
            dg.stopped = ask(DG_RQ_CHUNK, chunk, filled, whole) != 0;
        else
            dg.stopped = ask(DG_RQ_BYTES, (u64)shared, filled, whole) != 0;
        if (attached) chunk = (chunk + 1) % DG_CHUNKS;
    }
    filled = 0;
}

static void append(const u8 *from, u64 n, bool begins_record) {
    u64 whole = begins_record ? filled : 0;
    if (dg.stopped) return;
    if (!shared) make_shared();
    while (n > 0) {
        u64 room = DG_CHUNK - filled, part = n < room ? n : room;
        rt_memcpy(shared + (u64)chunk * DG_CHUNK + filled, from, part);
        filled += part;
        from += part;
        n -= part;
        if (filled == DG_CHUNK) {
            send_chunk(n == 0 ? filled : whole);
            whole = 0;
        }
    }
}

static void append_definitions(void) {
    append(definitions, n_definitions, true);
    n_definitions = 0;
}

u8 *dg_definition(u32 type, u64 length) {
    if (!definitions) definitions = rt_pages(DEFINITIONS);
    if (n_definitions + LONGEST > DEFINITIONS) append_definitions();
    u8 *at = definitions + n_definitions, *payload = dg_head(at, type, length);
    n_definitions += (u32)(payload + length - at);
    return payload;
}

void dg_emit(struct dg_thread *t) {
    if (t->out == t->out_begin) return;
    rt_lock(&dg.lock);
    append_definitions();
    append(t->out_begin, (u64)(t->out - t->out_begin), true);
    rt_unlock(&dg.lock);
    t->out = t->out_begin;
}

void dg_send(void) {
    rt_lock(&dg.lock);
    append_definitions();
    send_chunk(filled);
    rt_unlock(&dg.lock);
}

void dg_output_after_fork(void) {
    if (shared && !attached) rt_free_pages(shared, DG_CHUNK);
    shared = NULL;
    attached = false;
    chunk = 0;
    filled = 0;
    n_definitions = 0;
    dg.stopped = false;
}

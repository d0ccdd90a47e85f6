/* What a run translated, beside what was kept before, goes into a new file. */
#include "jit/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/inline/pcs.h"
#include "abi/inline/points.h"
#include "jit/digest.h"
#include "jit/lastwords.h"

struct bytes {
    uint8_t *at;
    size_t n, cap;
};

static void *grow(struct bytes *b, size_t n) {
    if (b->n + n > b->cap) {
        b->cap = (b->n + n) * 2;
        b->at = ip_realloc(b->at, b->cap);
    }
    b->n += n;
    return b->at + (b->n - n);
}

static void add(struct bytes *b, const void *from, size_t n) {
    if (n) memcpy(grow(b, n), from, n);
}

struct save {
    struct transtab *t;
    uint64_t lo, hi;
    int fd;
    uint64_t at;
    struct bytes chunk, chunks, names;
    uint32_t in_chunk, n_chunks, n_names;
    int error;
};

static void put(struct save *s, const void *from, size_t n) {
    for (size_t done = 0; done < n && !s->error;) {
        ssize_t put = pwrite(s->fd, (const uint8_t *)from + done, n - done, (off_t)(s->at + done));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0)
            s->error = put < 0 ? errno : ENOSPC;
        else
            done += (size_t)put;
    }
    s->at += n;
}

static void end_chunk(struct save *s) {
    if (!s->in_chunk) return;
    struct kept_chunk c = {.at = s->at, .bytes = (uint32_t)s->chunk.n, .n_blocks = s->in_chunk};
    ip_digest(s->chunk.at, s->chunk.n, c.digest);
    put(s, s->chunk.at, s->chunk.n);
    add(&s->chunks, &c, sizeof c);
    s->n_chunks++;
    s->chunk.n = s->in_chunk = 0;
}

static void add_name(struct save *s, uint32_t pc, uint32_t track) {
    struct kept_name n = {pc, track, s->n_chunks, 0};
    add(&s->names, &n, sizeof n);
    s->n_names++;
}

#define KEY_MIDDLE 0x0000ffff00000000ull /* kept files have no room for these bits of keys */

/* Is the block whole, of this image, and noted?  Its note. */
static const struct note *saved(const struct save *s, uint32_t block, const uint8_t **arrays) {
    const struct transtab *t = s->t;
    const struct ip_block *b = &t->blocks[block];
    const struct brec *r = &t->brec[block];
    uint64_t pc = b->key & IP_KEY_PC;
    if (!b->live || !t->keep->note[block] || pc < s->lo || pc >= s->hi || r->compare) return NULL;
    for (uint32_t i = 0; i < tt_n_pages(t, block); i++)
        if (tt_block_page(t, block, i) < s->lo || tt_block_page(t, block, i) >= s->hi) return NULL;
    const struct note *n = keep_note(&t->keep->notes, t->keep->note[block]);
    if (!n) return NULL;
    const uint8_t *behind = (const uint8_t *)(n + 1);
    const struct kept_read *reads = (const void *)(behind + 4u * n->n_moved);
    for (int i = 0; i < n->n_reads; i++)
        if (reads[i].pc < s->lo || reads[i].pc + (uint64_t)reads[i].n > s->hi) return NULL;
    for (const struct ip_exit *x = &t->exits[r->first_exit], *end = &t->exits[tt_end_exits(t, block)]; x < end; x++)
        if ((x->kind_aux & 0xff) != IP_X_FAR && x->key & KEY_MIDDLE) return NULL;
    *arrays = behind;
    return n;
}

static struct code_place place_of(const struct ip_block *b) {
    return (struct code_place){b->host, b->cold, b->host_len};
}

/* The exits, and the descriptions of instructions that some of them have. */
static void add_exits(struct save *s, uint32_t block, const uint8_t *ids, struct bytes *descs) {
    const struct transtab *t = s->t;
    const struct ip_insn *before = NULL;
    uint16_t n_descs = 0;
    for (uint32_t i = t->brec[block].first_exit; i < tt_end_exits(t, block); i++) {
        const struct ip_exit *x = &t->exits[i];
        int kind = x->kind_aux & 0xff;
        struct kept_exit out = {.pc = (uint32_t)x->key, .upper = (uint16_t)(x->key >> 48), .kind_aux = x->kind_aux};
        if (x->patch) out.patch = (uint16_t)tt_offset(t, block, x->patch);
        memcpy(&out.id, ids, 2);
        ids += 2;
        if (kind == IP_XS_TRACK || kind == IP_X_FAR) {
            uint64_t at = kind == IP_XS_TRACK ? ip_described(x->kind_aux >> 8) : x->key;
            const struct ip_insn *in = (const void *)(t->desc + (at - IP_META_BASE - IP_META_DESC));
            if (in != before) {
                add(descs, in, sizeof *in);
                n_descs++;
            }
            before = in;
            if (kind == IP_X_FAR)
                out.pc = out.upper = 0;
            else
                out.kind_aux = IP_XS_TRACK;
            out.desc = n_descs;
        }
        add(&s->chunk, &out, sizeof out);
    }
}

/* The code as it was made: its exits lead to their stubs. */
static void add_code(struct save *s, uint32_t block) {
    const struct transtab *t = s->t;
    const struct ip_block *b = &t->blocks[block];
    uint8_t *code = grow(&s->chunk, (size_t)b->host_len + b->cold_len);
    memcpy(code, tt_code(t, b->host), b->host_len);
    if (b->cold_len) memcpy(code + b->host_len, tt_code(t, b->cold), b->cold_len);
    for (uint32_t x = t->brec[block].first_exit; x < tt_end_exits(t, block); x++) {
        if (!t->xrec_of[x]) continue;
        uint32_t patch = t->exits[x].patch, distance = tt_place(t, block, tt_xrec(t, x)->stub) - (patch + 4);
        memcpy(code + tt_offset(t, block, patch), &distance, 4);
    }
    for (uint32_t x = tt_first_check(t, block); x; x = tt_next_check(t, x)) {
        uint32_t at = tt_xrec(t, x)->stub, out = (uint32_t)t->opts.sym[IP_SYM_EXIT] - (tt_place(t, block, at) + 4);
        memcpy(code + at, &out, 4);
    }
}

static const uint8_t *pcs_end(const struct transtab *t, const struct ip_block *b) {
    const uint8_t *at = t->pcs + b->pcs + IP_PCS_HEAD;
    for (uint32_t n = b->n_insns; n--;) ip_pcs_step(&at);
    return at;
}

static const uint8_t *points_end(const struct transtab *t, const struct ip_block *b) {
    const uint8_t *at = t->points + b->points;
    struct ip_point p = {0};
    for (uint32_t n = b->n_points; n--;) at = ip_point_take(at, &p);
    return at;
}

/* The offsets that move in one way.  Returns how many. */
static uint16_t add_moved(struct save *s, const uint8_t *moved, uint32_t n, uint32_t how) {
    uint16_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t entry;
        memcpy(&entry, moved + (size_t)4 * i, 4);
        if ((entry & ~0xffffu) != how) continue;
        add(&s->chunk, &entry, 2);
        count++;
    }
    return count;
}

static void add_block(struct save *s, uint32_t block, const struct note *n, const uint8_t *arrays) {
    const struct transtab *t = s->t;
    const struct ip_block *b = &t->blocks[block];
    const struct brec *r = &t->brec[block];
    const uint8_t *moved = arrays, *reads = moved + 4u * n->n_moved, *unbound = reads + 8u * n->n_reads,
                  *ids = unbound + 4u * n->n_unbound, *guest = ids + 2u * n->n_exits;
    uint32_t pc = (uint32_t)b->key;
    struct bytes descs = {0};
    size_t began = s->chunk.n;
    const uint8_t *points = t->points + b->points, *pcs = t->pcs + b->pcs;
    struct kept_block k = {.pc = pc,
                           .made_for = place_of(b),
                           .host_len = (uint32_t)b->host_len + b->cold_len,
                           .entry = b->entry,
                           .unmasked = r->unmasked,
                           .mask = r->mask,
                           .n_guest = n->n_guest,
                           .slot = n->slot,
                           .guess = n->guess,
                           .n_exits = n->n_exits,
                           .n_points = b->n_points,
                           .n_reads = n->n_reads,
                           .n_pages = (uint16_t)tt_n_pages(t, block),
                           .n_insns = b->n_insns,
                           .points_bytes = (uint16_t)(points_end(t, b) - points),
                           .pcs_bytes = (uint16_t)(pcs_end(t, b) - pcs),
                           .n_unbound = n->n_unbound,
                           .track = (b->key & IP_KEY_TRACK) != 0,
                           .keeps_stack = n->keeps_stack};
    add(&s->chunk, &k, sizeof k);
    add_exits(s, block, ids, &descs);
    add(&s->chunk, descs.at, descs.n);
    add(&s->chunk, reads, 8u * n->n_reads);
    for (uint32_t i = 0; i < k.n_pages; i++) {
        uint32_t page = (uint32_t)tt_block_page(t, block, i);
        add(&s->chunk, &page, sizeof page);
    }
    add(&s->chunk, unbound, 4u * n->n_unbound);
    uint16_t n_moved[KEEP_MOVED];
    for (int way = 0; way < KEEP_MOVED; way++) n_moved[way] = add_moved(s, moved, n->n_moved, keep_ways[way]);
    add(&s->chunk, points, k.points_bytes);
    add(&s->chunk, pcs, k.pcs_bytes);
    add(&s->chunk, guest, n->n_guest);
    add_code(s, block);
    size_t gap = -s->chunk.n & 7;
    memset(grow(&s->chunk, gap), 0, gap);
    struct kept_block *out = (void *)(s->chunk.at + began);
    out->bytes = (uint32_t)(s->chunk.n - began);
    out->n_descs = (uint16_t)(descs.n / sizeof(struct ip_insn));
    memcpy(out->n_moved, n_moved, sizeof n_moved);
    free(descs.at);
    add_name(s, pc, k.track);
    s->in_chunk++;
    if (s->chunk.n >= KEEP_CHUNK) end_chunk(s);
}

/* Chunks that are there already are copied, those that are damaged are left out with their blocks: of each the number
 * that it has now, from 1. */
static uint32_t *add_old(struct save *s, const struct segment *old) {
    uint32_t *now = ip_alloc(old->n_chunks + 1, sizeof *now);
    for (uint32_t i = 0; i < old->n_chunks; i++) {
        uint8_t *bytes = keep_chunk(old, i);
        if (!bytes) continue;
        struct kept_chunk c = old->chunks[i];
        c.at = s->at;
        c.bytes = old->bytes[i];
        put(s, bytes, c.bytes);
        add(&s->chunks, &c, sizeof c);
        now[i] = ++s->n_chunks;
        free(bytes);
    }
    for (uint32_t i = 0; i < old->n_names; i++) {
        struct kept_name n = old->names[i];
        if (!now[n.chunk]) continue;
        n.chunk = now[n.chunk] - 1;
        add(&s->names, &n, sizeof n);
        s->n_names++;
    }
    return now;
}

static int by_pc(const void *a, const void *b) {
    const struct kept_name *x = a, *y = b;
    if (x->pc != y->pc) return x->pc < y->pc ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

static void end_file(struct save *s) {
    end_chunk(s);
    qsort(s->names.at, s->n_names, sizeof(struct kept_name), by_pc);
    struct kept_head h = {.magic = KEEP_MAGIC,
                          .format = KEEP_FORMAT,
                          .build = ip_build_id(),
                          .lo = s->lo,
                          .hi = s->hi,
                          .index = s->at,
                          .n_chunks = s->n_chunks,
                          .n_blocks = s->n_names};
    keep_made_for(s->t, h.made_for);
    struct bytes all = {0};
    add(&all, &h, offsetof(struct kept_head, digest));
    add(&all, s->chunks.at, s->chunks.n);
    add(&all, s->names.at, s->names.n);
    ip_digest(all.at, all.n, h.digest);
    put(s, all.at + offsetof(struct kept_head, digest), all.n - offsetof(struct kept_head, digest));
    s->at = 0;
    put(s, &h, sizeof h);
    free(all.at);
}

static uint64_t file_bytes(const struct segment *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->n_chunks; i++) sum += s->bytes[i];
    return sum;
}

int64_t keep_save(struct transtab *t, uint64_t lo, uint64_t hi, int old_fd, int new_fd) {
    struct save s = {.t = t, .lo = lo, .hi = hi, .fd = new_fd, .at = sizeof(struct kept_head)};
    struct segment old = {.lo = lo, .hi = hi, .fd = old_fd};
    const struct segment *mapped = keep_segment(t->keep, lo);
    bool merges = old_fd >= 0 && !(mapped && mapped->stale) && keep_open(t, &old);
    bool damaged = mapped && mapped->damaged;
    if (merges && !damaged && file_bytes(&old) >= t->keep->max_bytes) { /* it is full: what it has stays */
        keep_close(&old);
        return 0;
    }
    uint32_t *now = merges ? add_old(&s, &old) : NULL;
    int64_t fresh = 0;
    for (uint32_t block = 0; block < t->meta->n_blocks && s.at < t->keep->max_bytes; block++) {
        const uint8_t *arrays;
        const struct note *n = saved(&s, block, &arrays);
        if (!n) continue;
        uint64_t key = t->blocks[block].key;
        const struct kept_name *there = merges ? keep_name(&old, key) : NULL;
        if (there && now[there->chunk]) continue;
        add_block(&s, block, n, arrays);
        fresh++;
    }
    if (fresh) end_file(&s);
    free(now);
    keep_close(&old);
    free(s.chunk.at);
    free(s.chunks.at);
    free(s.names.at);
    return s.error ? -s.error : fresh;
}

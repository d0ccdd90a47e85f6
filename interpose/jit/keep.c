/* Translations that outlast the run: the files that they are in, and what is taken from there. */
#include "jit/keep.h"

#include <cpuid.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit/digest.h"
#include "jit/lastwords.h"
#include "jit/writer.h"

const uint32_t keep_ways[KEEP_MOVED] = {MOVED_DISTANCE, MOVED_ADDRESS, MOVED_ACROSS};

static void move_one(uint8_t *code, uint32_t at, uint32_t how, const struct code_place *from,
                     const struct code_place *to) {
    uint32_t by = to->host - from->host, cold_by = to->cold - from->cold, value;
    uint32_t here = at < from->hot ? by : cold_by, there = at < from->hot ? cold_by : by;
    memcpy(&value, code + at, 4);
    if (how & MOVED_ADDRESS)
        value += value - from->host < from->hot ? by : cold_by;
    else
        value += (how & MOVED_ACROSS ? there : 0) - here;
    memcpy(code + at, &value, 4);
}

void keep_move(uint8_t *code, const uint32_t *moved, uint32_t n, const struct code_place *from,
               const struct code_place *to) {
    for (uint32_t i = 0; i < n; i++) move_one(code, moved[i] & 0xffff, moved[i], from, to);
}

void keep_move_all(uint8_t *code, const uint16_t *offsets, uint32_t n, uint32_t how, const struct code_place *from,
                   const struct code_place *to) {
    for (uint32_t i = 0; i < n; i++) move_one(code, offsets[i], how, from, to);
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

enum { LEAVES = 6 };

/* What the CPU says it can do.  Under a hypervisor each question takes microseconds, and each file would ask them. */
static const uint64_t *cpu_says(void) {
    static const uint32_t leaves[LEAVES][2] = {{0, 0}, {1, 0}, {7, 0}, {7, 1}, {0xd, 1}, {0x80000001, 0}};
    static uint64_t said[2 * LEAVES];
    static atomic_bool known;
    if (atomic_load_explicit(&known, memory_order_acquire)) return said;
    uint64_t now[2 * LEAVES];
    for (unsigned i = 0; i < LEAVES; i++) {
        uint32_t a = 0, b = 0, c = 0, d = 0;
        __get_cpuid_count(leaves[i][0], leaves[i][1], &a, &b, &c, &d);
        if (leaves[i][0] == 1) b = 0; /* which of the CPUs this is */
        now[2 * i] = (uint64_t)a << 32 | b;
        now[2 * i + 1] = (uint64_t)c << 32 | d;
    }
    memcpy(said, now, sizeof said);
    atomic_store_explicit(&known, true, memory_order_release);
    return said;
}

void keep_made_for(const struct transtab *t, uint64_t out[2]) {
    enum { OPTIONS = 4 };
    uint64_t all[OPTIONS + sizeof t->opts.sym / sizeof t->opts.sym[0] + 2 * LEAVES] = {
        t->keep->flags, ip_build_id(), (uint64_t)t->opts.count_blocks, t->opts.random_registers};
    memcpy(&all[OPTIONS], t->opts.sym, sizeof t->opts.sym);
    memcpy(&all[sizeof all / sizeof all[0] - 2 * LEAVES], cpu_says(), 2 * LEAVES * sizeof all[0]);
    ip_digest((const uint8_t *)all, sizeof all, out);
}

static bool read_at(int fd, void *to, size_t n, uint64_t at) {
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (uint8_t *)to + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

void keep_close(struct segment *s) {
    if (s->fd >= 0) close(s->fd);
    free(s->chunks);
    free(s->bytes);
    free(s->names);
    s->fd = -1;
    s->chunks = NULL;
    s->bytes = NULL;
    s->names = NULL;
    s->n_chunks = s->n_names = 0;
}

/* The header and the tables, if they are what was written. */
static bool read_tables(struct segment *s, struct kept_head *h) {
    uint64_t digest[2];
    off_t size = lseek(s->fd, 0, SEEK_END);
    if (size < (off_t)sizeof *h || !read_at(s->fd, h, sizeof *h, 0)) return false;
    if (h->magic != KEEP_MAGIC || h->format != KEEP_FORMAT || h->n_chunks > 1 << 20 || h->n_blocks > 1 << 22)
        return false;
    size_t chunks = sizeof(struct kept_chunk) * h->n_chunks, names = sizeof(struct kept_name) * h->n_blocks;
    if (h->index > (uint64_t)size || h->index + chunks + names != (uint64_t)size) return false;
    size_t head = offsetof(struct kept_head, digest);
    uint8_t *all = ip_alloc(1, head + chunks + names);
    memcpy(all, h, head);
    bool whole = read_at(s->fd, all + head, chunks + names, h->index);
    ip_digest(all, head + chunks + names, digest);
    whole = whole && memcmp(digest, h->digest, sizeof digest) == 0;
    if (whole) {
        s->chunks = ip_alloc(h->n_chunks + 1, sizeof *s->chunks);
        s->bytes = ip_alloc(h->n_chunks + 1, sizeof *s->bytes);
        s->names = ip_alloc(h->n_blocks + 1, sizeof *s->names);
        memcpy(s->chunks, all + head, chunks);
        memcpy(s->names, all + head + chunks, names);
        s->n_chunks = h->n_chunks;
        s->n_names = h->n_blocks;
    }
    free(all);
    for (uint32_t i = 0; whole && i < s->n_chunks; i++) {
        s->bytes[i] = s->chunks[i].bytes;
        whole = s->chunks[i].at < h->index && s->chunks[i].bytes <= h->index - s->chunks[i].at;
    }
    for (uint32_t i = 0; whole && i < s->n_names; i++) whole = s->names[i].chunk < s->n_chunks;
    return whole;
}

bool keep_open(struct transtab *t, struct segment *s) {
    struct kept_head h;
    uint64_t expected[2];
    keep_made_for(t, expected);
    return read_tables(s, &h) && h.build == ip_build_id() && h.lo == s->lo && h.hi == s->hi &&
           memcmp(h.made_for, expected, sizeof expected) == 0;
}

int64_t ip_keep_check(int fd) {
    struct segment s = {.fd = fd};
    struct kept_head h;
    uint64_t covered = sizeof h;
    bool whole = read_tables(&s, &h);
    for (uint32_t i = 0; whole && i < s.n_chunks; i++) {
        uint8_t *bytes = keep_chunk(&s, i);
        whole = bytes && s.chunks[i].at == covered;
        covered += s.bytes[i];
        free(bytes);
    }
    int64_t blocks = whole && covered == h.index ? (int64_t)s.n_names : -1;
    keep_close(&s);
    return blocks;
}

static int order(uint32_t pc, uint32_t track, const struct kept_name *n) {
    if (pc != n->pc) return pc < n->pc ? -1 : 1;
    return (track > n->track) - (track < n->track);
}

const struct kept_name *keep_name(const struct segment *s, uint64_t key) {
    uint32_t from = 0, to = s->n_names, pc = (uint32_t)key, track = (key & IP_KEY_TRACK) != 0;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        int o = order(pc, track, &s->names[mid]);
        if (!o) return &s->names[mid];
        if (o < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

uint8_t *keep_chunk(const struct segment *s, uint32_t chunk) {
    const struct kept_chunk *c = &s->chunks[chunk];
    uint64_t digest[2];
    uint8_t *bytes = malloc((size_t)s->bytes[chunk] + 8);
    if (!bytes) return NULL;
    bool whole = read_at(s->fd, bytes, s->bytes[chunk], c->at);
    if (whole) ip_digest(bytes, s->bytes[chunk], digest);
    if (whole && memcmp(digest, c->digest, sizeof digest) == 0) return bytes;
    free(bytes);
    return NULL;
}

/* ---- What was kept is wanted --------------------------------------------------------------------------- */

/* Who comes to a pc that nothing is kept of, or was looked at, need not ask (serve.c). */
static void note_waiting(struct keeping *k, const struct segment *s) {
    for (uint32_t i = 0; i < s->n_names; i++) {
        uint32_t bit = keep_bit(s->names[i].pc);
        k->waits[bit / 64] |= 1ull << bit % 64;
    }
}

static void note_seen(struct keeping *k, uint64_t pc) {
    uint32_t bit = keep_bit(pc);
    k->waits[bit / 64] &= ~(1ull << bit % 64);
}

static void take_chunk(struct transtab *t, struct segment *s, uint32_t chunk) {
    uint32_t bytes = s->bytes[chunk];
    s->chunks[chunk].bytes = 0;
    uint8_t *blocks = keep_chunk(s, chunk);
    if (!blocks) {
        s->damaged = true;
        t->keep->damaged++;
        return;
    }
    uint32_t first = t->meta->n_blocks;
    for (uint32_t at = 0, n; at < bytes; at += n) {
        if (!(n = keep_install(t, s, blocks + at, bytes - at))) {
            s->damaged = true;
            t->keep->damaged++;
            break;
        }
        note_seen(t->keep, ((const struct kept_block *)(const void *)(blocks + at))->pc);
    }
    free(blocks);
    for (uint32_t block = first; block < t->meta->n_blocks; block++) {
        tt_link_block(t, t->blocks[block].key, block);
        t->stats.kept++;
    }
}

/* Nobody looks at translations, or wants others. */
static bool may_take(const struct transtab *t) {
    return !t->watching && t->trace_fd < 0 && t->opts.flags == t->keep->flags;
}

bool keep_take(struct transtab *t, uint64_t key) {
    struct keeping *k = t->keep;
    if (!k || !k->n_seg || key & ~(IP_KEY_TRACK | IP_KEY_PC)) return false;
    if (!may_take(t)) return false;
    uint64_t pc = key & IP_KEY_PC;
    for (int i = 0; i < k->n_seg; i++) {
        struct segment *s = &k->seg[i];
        if (pc < s->lo || pc >= s->hi || s->fd < 0) continue;
        const struct kept_name *n = keep_name(s, key);
        if (!n || !s->chunks[n->chunk].bytes) return false;
        bool went_on = s->ahead && n->chunk == s->next_chunk;
        s->ahead = !went_on ? KEEP_AHEAD : s->ahead * 2 < KEEP_AHEAD_TO ? s->ahead * 2 : KEEP_AHEAD_TO;
        s->next_chunk = n->chunk + 1;
        k->next_lo = s->lo;
        take_chunk(t, s, n->chunk);
        return tt_find(t, key) != 0;
    }
    return false;
}

struct segment *keep_segment(struct keeping *k, uint64_t lo) {
    for (int i = 0; i < k->n_seg; i++)
        if (k->seg[i].lo == lo) return &k->seg[i];
    return NULL;
}

static struct segment *wanted_last(struct keeping *k) {
    struct segment *s = keep_segment(k, k->next_lo);
    return s && s->fd >= 0 ? s : NULL;
}

int keep_much_ahead(const struct transtab *t) {
    const struct segment *s = wanted_last(t->keep);
    return s ? s->ahead : 0;
}

bool keep_ahead(struct transtab *t) {
    struct segment *s = t->keep && may_take(t) ? wanted_last(t->keep) : NULL;
    while (s && s->next_chunk < s->n_chunks) {
        uint32_t chunk = s->next_chunk++;
        if (!s->chunks[chunk].bytes) continue; /* there by now */
        t->req_gen++;                          /* the client runs: what was read for the request may have changed */
        take_chunk(t, s, chunk);
        return true;
    }
    return false;
}

void keep_add(struct transtab *t, const struct segment *s) {
    struct keeping *k = t->keep;
    for (int i = 0; i < k->n_seg;) {
        if (k->seg[i].hi <= s->lo || k->seg[i].lo >= s->hi) {
            i++;
            continue;
        }
        keep_close(&k->seg[i]);
        k->seg[i] = k->seg[--k->n_seg];
    }
    struct segment own = *s;
    if (k->n_seg == KEEP_SEGMENTS) {
        keep_close(&own);
        return;
    }
    note_waiting(k, &own);
    k->seg[k->n_seg++] = own;
}

static void forget_segments(struct keeping *k) {
    for (int i = 0; i < k->n_seg; i++) keep_close(&k->seg[i]);
    k->n_seg = 0;
}

/* Nothing is there that was made under the flags from before: from here on blocks may note where jumps are, and those
 * that are kept are others. */
void keep_flushed(struct transtab *t) {
    struct keeping *k = t->keep;
    if (!k) return;
    keep_notes_forget(&k->notes);
    if (!(k->flags & IP_C_JUMPS) && t->opts.flags == (k->flags | IP_C_JUMPS)) {
        forget_segments(k);
        __atomic_fetch_or(&k->flags, IP_C_JUMPS, __ATOMIC_RELAXED);
    }
    for (int i = 0; i < k->n_seg; i++) {
        for (uint32_t c = 0; c < k->seg[i].n_chunks; c++) k->seg[i].chunks[c].bytes = k->seg[i].bytes[c];
        note_waiting(k, &k->seg[i]);
    }
}

void keep_forget(struct keeping *k) {
    forget_segments(k);
    keep_notes_forget(&k->notes);
}

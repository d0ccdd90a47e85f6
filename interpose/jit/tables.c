/* The supervisor's views of the memory files, their copies for a forked child, and whole flushes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit/lastwords.h"
#include "jit/memory.h"
#include "jit/tables.h"

#define OWN_BYTES sizeof(struct tt_memory)
_Static_assert(IP_CACHE_BASE % HUGE_PAGE == 0, "the client's view of the cache has room for huge pages");

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

static struct ip_chan *chan;
static struct tt_memory *own;
static uint8_t *meta, *cache;

/* Nothing is taken ahead, so small programs need no more memory; where a page cannot be had, all stays as it is. */
void ip_large_pages(void) {
    struct transtab *t = &own->table;
    uint32_t to = t->meta->cache_used / HUGE_PAGE * HUGE_PAGE;
    if (to <= t->large_to) return;
    madvise(t->cache + t->large_to, to - t->large_to, MADV_COLLAPSE);
    t->large_to = to;
}

static void *map_shared(void *at, size_t bytes, int flags, int fd, off_t offset) {
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, offset);
}

/* Where a view is that was there before; else where it should be; else, with room for huge pages, anywhere.  wanted: 0:
 * that is no matter. */
static void *view(void *before, uint64_t wanted, size_t bytes, int fd, off_t offset) {
    if (before) return map_shared(before, bytes, MAP_FIXED, fd, offset);
    if (!wanted) return map_shared(NULL, bytes, 0, fd, offset);
    uint8_t *at = map_shared((void *)wanted, bytes, MAP_FIXED_NOREPLACE, fd, offset);
    if (at == (void *)wanted) return at;
    if (at != MAP_FAILED) munmap(at, bytes); /* a kernel that takes it for a hint */
    at = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return at;
    at += -(uintptr_t)at % HUGE_PAGE;
    return map_shared(at, bytes, MAP_FIXED, fd, offset);
}

static int map_all(const struct memory_files *files) {
    void *c = view(chan, 0, IP_CHAN_BYTES, files->chan, 0);
    void *o = view(own, IP_XLT_BASE, OWN_BYTES, files->chan, IP_CHAN_BYTES);
    void *m = view(meta, IP_XLT_META, IP_META_MAX, files->meta, 0);
    void *k = view(cache, IP_XLT_CACHE, IP_CACHE_MAX, files->cache, 0);
    if (c == MAP_FAILED || o == MAP_FAILED || m == MAP_FAILED || k == MAP_FAILED) return -errno;
    chan = c;
    own = o;
    meta = m;
    cache = k;
    ip_last_words_chan(chan);
    return 0;
}

/* Each of its views is where the program's process has it. */
static bool is_in_place(void) {
    return own == (void *)IP_XLT_BASE && meta == (void *)IP_XLT_META && cache == (void *)IP_XLT_CACHE;
}

static void find_views(struct transtab *t) {
    t->cache = cache;
    t->meta_base = meta;
    t->meta = (void *)meta;
    t->tt = (void *)(meta + IP_META_TT);
    t->exits = (void *)(meta + IP_META_EXITS);
    t->blocks = (void *)(meta + IP_META_BLOCKS);
    t->points = meta + IP_META_POINTS;
    t->pcs = meta + IP_META_PCS;
    t->desc = meta + IP_META_DESC;
    t->meta->magic = IP_MAGIC;
    t->meta->version = IP_ABI_VERSION;
    if (!t->meta->n_exits) t->meta->n_exits = 1;
}

void tt_begin_tracing(void) {
    if (own->table.opts.flags & IP_C_TRACE) tt_trace_in(own);
}

int tt_map(const struct memory_files *files, struct ip_chan **its_chan, struct transtab **its_table) {
    int r = map_all(files);
    if (r) return r;
    find_views(&own->table);
    tt_begin_tables(&own->table);
    own->table.in_place = is_in_place();
    *its_chan = chan;
    *its_table = &own->table;
    return 0;
}

struct keeping *tt_keeping(void) { return &own->keeping; }

/* ---- Another program in this process --------------------------------------------------------------- */

/* All that points into tables. */
static void forget_tables(struct transtab *t) {
    t->lock.word = 0;
    t->broken = false;
    t->large_to = 0;
    t->heap_used = 0;
    memset(t->heap_free, 0, sizeof t->heap_free);
    t->wait = NULL;
    t->shapes = NULL;
    t->breaks = NULL;
    t->breaks_cap = t->n_breaks = t->shapes_size = t->n_shapes = 0;
    t->pages_n = t->n_often = 0;
    t->bind_n = 0;
    memset(t->bound_pages, 0, sizeof t->bound_pages);
    t->stable.n = t->keeps_stack.n = 0;
    memset(t->opts.sym, 0, sizeof t->opts.sym);
    tt_begin_tables(t);
    tt_forget_blocks(t);
}

int tt_map_anew(const struct memory_files *files) {
    struct transtab *before = ip_alloc(1, sizeof *before);
    struct keeping *kept = ip_alloc(1, sizeof *kept);
    /* A copy for what a child of vfork executes has its parent's at hand, which goes on. */
    memcpy(before, &own->table, sizeof *before);
    memcpy(kept, &own->keeping, sizeof *kept);
    int r = map_all(files);
    if (!r) {
        struct transtab *t = &own->table;
        memcpy(t, before, sizeof *t);
        find_views(t);
        forget_tables(t);
        tt_begin_tracing();
        own->keeping.flags = kept->flags;
        own->keeping.writes = kept->writes;
        own->keeping.max_bytes = kept->max_bytes;
        own->keeping.damaged = kept->damaged;
        own->keeping.notes.folder = kept->notes.folder;
        own->keeping.notes.fd = -1;
        if (t->keep) keep_forget(kept);
    }
    free(before);
    free(kept);
    return r;
}

/* ---- A forked child -------------------------------------------------------------------------------- */

/* Give [off, off + len) of a mapped memory file to another. A write fills fresh pages at once; stores into a
 * mapping would fault for each, and have it cleared first. */
static int copy_to(int fd, const uint8_t *from, size_t off, size_t len) {
    while (len) {
        ssize_t n = pwrite(fd, from, len, (off_t)off);
        if (n <= 0) return n < 0 ? -errno : -EIO;
        from += n;
        off += (size_t)n;
        len -= (size_t)n;
    }
    return 0;
}
static int copy_part(int fd, const uint8_t *from, size_t off, size_t len) { return copy_to(fd, from + off, off, len); }

/* The same without the holes of the file: to look at one through the mapping would fill it. */
static int copy_sparse(int fd, int old_fd, const uint8_t *from, size_t off, size_t len) {
    off_t end = (off_t)(off + len), at = (off_t)off;
    while ((at = lseek(old_fd, at, SEEK_DATA)) >= 0 && at < end) {
        off_t hole = lseek(old_fd, at, SEEK_HOLE);
        if (hole < 0) return -errno;
        if (hole > end) hole = end;
        int r = copy_part(fd, from, (size_t)at, (size_t)(hole - at));
        if (r) return r;
        at = hole;
    }
    return at >= 0 || errno == ENXIO ? 0 : -errno; /* ENXIO: only a hole is left */
}

static size_t behind(const void *end) { return (size_t)((const uint8_t *)end - (const uint8_t *)own); }

/* The translator's own: what is in use of it, but for what belongs to the block under way, and copies of code. */
static int copy_own(int chan_fd) {
    const struct transtab *t = &own->table;
    const struct tracing *trace = &own->tracing;
    const bool traces = t->opts.flags & IP_C_TRACE, shared = traces && trace->ranges == own->ranges;
    const struct {
        const void *from;
        size_t bytes;
    } parts[] = {
        {own, behind(own->ub)},
        {own->xrec_of, sizeof *own->xrec_of * t->meta->n_exits},
        {own->xrec, sizeof *own->xrec * t->n_xrec},
        {own->brec, sizeof *own->brec * t->meta->n_blocks},
        {own->block_pages, sizeof *own->block_pages * t->n_block_pages},
        {own->heap, t->heap_used},
        {own->waits, t->keep && t->keep->n_seg ? sizeof own->waits : 0},
        {trace, traces ? sizeof *trace : 0},
        {KNOWN_TABLE(own->known, trace->known_level), traces ? sizeof *own->known << trace->known_level : 0},
        {own->ranges, shared ? sizeof *own->ranges * trace->n_ranges : 0},
    };
    int r = 0;
    for (size_t i = 0; !r && i < sizeof parts / sizeof *parts; i++)
        r = copy_to(chan_fd, parts[i].from, IP_CHAN_BYTES + behind(parts[i].from), parts[i].bytes);
    return r;
}

static int copy_tables(const struct memory_files *files, int old_meta) {
    const struct transtab *t = &own->table;
    const struct ip_meta *m = t->meta;
    const size_t parts[][2] = {
        {0, sizeof *m},
        {IP_META_EXITS, sizeof *t->exits * m->n_exits},
        {IP_META_BLOCKS, sizeof *t->blocks * m->n_blocks},
        {IP_META_POINTS, m->points_used},
        {IP_META_PCS, m->pcs_used},
        {IP_META_DESC, m->desc_used},
    };
    int r = copy_part(files->cache, cache, 0, m->cache_used);
    if (!r) r = copy_part(files->cache, cache, IP_COLD_BASE - IP_CACHE_BASE, m->cold_used);
    if (!r) r = copy_part(files->cache, cache, IP_TRACE_BASE - IP_CACHE_BASE, m->trace_used);
    for (size_t i = 0; !r && i < sizeof parts / sizeof *parts; i++)
        r = copy_part(files->meta, meta, parts[i][0], parts[i][1]);
    if (!r) r = copy_sparse(files->meta, old_meta, meta, IP_META_TT, sizeof *t->tt * IP_META_TTSIZE);
    if (!r) r = copy_part(files->chan, (const uint8_t *)chan, 0, sizeof *chan);
    return r ? r : copy_own(files->chan);
}

int tt_copy(const struct memory_files *files, int old_meta) {
    int r = copy_tables(files, old_meta);
    if (!r) r = map_all(files);
    if (r) return r;
    struct transtab *t = &own->table;
    t->lock.word = 0;
    t->large_to = 0;
    tt_find_tables(t);
    find_views(t);
    tt_begin_tracing();
    tt_forget_code(t, 0, ~0ull);
    return 0;
}

/* ---- Whole flush ------------------------------------------------------------------------------------ */

/* Most programs use a small part of the table: what they never touched stays without memory. */
static void empty(struct ip_ttent *table) {
    const size_t bytes = sizeof *table * IP_META_TTSIZE;
    if (madvise(table, bytes, MADV_REMOVE) < 0) memset(table, 0, bytes);
}
_Static_assert(IP_META_TT % 4096 == 0 && sizeof(struct ip_ttent) * IP_META_TTSIZE % 4096 == 0, "whole pages");

void tt_flush(struct transtab *t) {
    struct ip_meta *m = t->meta;
    empty(t->tt);
    tt_flush_pages(t);
    tt_forget_blocks(t);
    tt_renew_heap(t);
    keep_flushed(t);
    m->n_blocks = m->points_used = m->pcs_used = m->desc_used = m->cache_used = m->cold_used = 0;
    m->n_exits = 1; /* id 0: none */
    m->generation++;
    t->stats.flushes++;
}

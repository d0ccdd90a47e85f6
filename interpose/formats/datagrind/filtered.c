/* Readings with another filter than the first one's.  They need not see the file from its beginning: what the
 * conditions say of a context is found out when it runs for the first time, of heap blocks and marks at once.
 */
#include <stdlib.h>
#include <unistd.h>

#include "formats/datagrind/private/own.h"
#include "jit/lastwords.h"

#define USUAL 4096 /* bytes that nearly all records with a stack or a label fit into */

struct record {
    uint8_t usual[USUAL];
    uint8_t *large;
    const uint8_t *payload;
    uint64_t size;
};

/* A record that was read before; false: it is not there any more.  `large` is the caller's to free. */
static bool record_at(int fd, uint64_t offset, uint8_t type, struct record *r) {
    r->large = NULL;
    if (offset > INT64_MAX) return false;
    ssize_t n = pread(fd, r->usual, sizeof r->usual, (off_t)offset);
    if (n < 2 || r->usual[0] != type) return false;
    uint64_t begin = 2;
    r->size = r->usual[1];
    if (r->size == 255) {
        begin = 10;
        if (n < (ssize_t)begin) return false;
        __builtin_memcpy(&r->size, r->usual + 2, sizeof r->size);
    }
    r->payload = r->usual + begin;
    if (begin + r->size <= (uint64_t)n) return true;
    if (n < USUAL || r->size > IP_DG_LONGEST) return false;
    r->payload = r->large = ip_alloc(r->size, 1);
    return pread(fd, r->large, r->size, (off_t)(offset + begin)) == (ssize_t)r->size;
}

/* ---- Events -------------------------------------------------------------------------------------- */

enum dg_class dg_class_of_instrs(const struct dg_own *own, const struct ip_dg_bbdef *def) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < def->n_instrs; i++) n += own->instr_matches[def->first_instr + i];
    return n == 0 ? DG_NONE : n == def->n_instrs ? DG_ALL : DG_SOME;
}

static bool callers_match(const struct ip_dg *s, uint64_t context) {
    uint64_t word = s->word_size, offset = s->defs.context_offset[context];
    struct record r;
    bool found = false;
    if (record_at(dg_own(s)->fd, offset, IP_DG_CONTEXT, &r) && r.size > word) {
        uint64_t n = r.payload[word], there = (r.size - word - 1) / word;
        for (uint64_t i = 1; i < n && i < there && !found; i++)
            found = dg_event_ip(s->filter, offset, dg_word(s, r.payload + word + 1 + i * word) - 1);
    }
    free(r.large);
    return found;
}

/* Several threads may find the same out at the same time. */
static enum dg_class class_of_callers(const struct ip_dg *s, uint64_t context) {
    uint64_t like = s->defs.context_like[context];
    const uint64_t *offset = s->defs.context_offset;
    if (dg_n_begun(s->filter, offset[like]) != dg_n_begun(s->filter, offset[context])) like = context;
    uint8_t *known = &dg_own(s)->callers_class[like];
    uint8_t class = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (class != DG_NOT_ASKED) return class;
    class = callers_match(s, like) ? DG_ALL : DG_NONE;
    __atomic_store_n(known, class, __ATOMIC_RELAXED);
    return class;
}

enum dg_class dg_class_of(const struct ip_dg *s, uint64_t context) {
    struct dg_own *own = dg_own(s);
    uint8_t class = __atomic_load_n(&own->context_class[context], __ATOMIC_ACQUIRE);
    if (class != DG_NOT_ASKED) return class;
    class = class_of_callers(s, context);
    if (class != DG_ALL) {
        const struct ip_dg_bbdef *def = &s->defs.bbdefs[s->defs.context_bbdef[context]];
        for (uint64_t i = 0; i < def->n_instrs; i++) {
            uint64_t at = def->first_instr + i;
            uint8_t matches = dg_event_ip(s->filter, def->offset, s->defs.instr_address[at]);
            __atomic_store_n(&own->instr_matches[at], matches, __ATOMIC_RELAXED);
        }
        class = dg_class_of_instrs(own, def);
    }
    __atomic_store_n(&own->context_class[context], class, __ATOMIC_RELEASE);
    return class;
}

/* ---- Ranges and labels --------------------------------------------------------------------------- */

static bool block_matches(const struct ip_dg *s, const struct ip_dg_block *b) {
    uint64_t word = s->word_size;
    struct record r;
    bool found = false;
    if (record_at(dg_own(s)->fd, b->offset, IP_DG_MALLOC_BLOCK, &r) && r.size >= 3 * word) {
        uint64_t n = dg_word(s, r.payload + 2 * word), there = (r.size - 3 * word) / word;
        found = dg_allocation_matches(s, s->filter, b->offset, r.payload + 3 * word, n < there ? n : there);
    }
    free(r.large);
    return found;
}

static void match_blocks(struct ip_dg *s) {
    const struct ip_dg_filter *f = s->filter;
    if (!f->by_range) return;
    s->blocks = dg_copy(s->blocks, s->n_blocks, sizeof *s->blocks);
    for (uint64_t i = 0; i < s->n_blocks; i++) {
        struct ip_dg_block *b = &s->blocks[i];
        const struct ip_dg_block *like = &s->blocks[b->like];
        if (f->any_block || (!f->n_range_ips && !f->n_later))
            b->matches = f->any_block != 0;
        else if (b->like < i && dg_n_begun(f, like->offset) == dg_n_begun(f, b->offset))
            b->matches = like->matches;
        else
            b->matches = block_matches(s, b);
    }
}

/* The number of a mark's label among those of the filter. */
static uint32_t mark_matches(const struct ip_dg *s, const struct ip_dg_mark *m) {
    const struct ip_dg_filter *f = s->filter;
    bool is_event = m->type == IP_DG_START_EVENT;
    if (!is_event && m->type != IP_DG_TRACK_RANGE) return 0;
    if (!is_event && f->by_range && f->any_range) return 1;
    uint64_t n = is_event ? f->n_event_labels : f->n_range_labels;
    if (!n || !(is_event ? f->by_event : f->by_range)) return 0;
    struct record r;
    const char *label = NULL;
    if (record_at(dg_own(s)->fd, m->offset, (uint8_t)m->type, &r)) {
        uint64_t skipped = is_event ? 0 : 2 * (uint64_t)s->word_size;
        const uint8_t *p = r.payload + skipped, *end = r.payload + r.size;
        if (r.size >= skipped && (is_event || dg_string(&p, end))) label = dg_string(&p, end);
    }
    uint32_t number = label ? dg_label_number(is_event ? f->event_labels : f->range_labels, n, label) : 0;
    free(r.large);
    return number;
}

static void match_marks(struct ip_dg *s) {
    const struct ip_dg_filter *f = s->filter;
    if (!f->n_event_labels && !f->n_range_labels && !f->any_range) return;
    s->marks = dg_copy(s->marks, s->n_marks, sizeof *s->marks);
    for (uint64_t i = 0; i < s->n_marks; i++) {
        struct ip_dg_mark *m = &s->marks[i];
        m->matches = mark_matches(s, m);
        if (m->matches && m->type == IP_DG_TRACK_RANGE && m->gone != IP_DG_NEVER)
            dg_map_add(&dg_own(s)->ends, m->gone, 0, 0);
    }
}

struct ip_dg *ip_dg_filtered(const struct ip_dg *whole, const struct ip_dg_filter *filter, int with_fetches, int fd) {
    struct ip_dg *s = ip_dg_new();
    struct dg_own *own = s->own;
    *s = *whole;
    s->own = own;
    s->ips = NULL;
    s->n_ips = 0;
    s->collects_ips = 0;
    s->with_fetches = with_fetches;
    s->filter = filter;
    own->lender = whole;
    own->fd = fd;
    if (!filter) return s;
    own->context_class = ip_alloc(s->defs.n_contexts + 1, 1);
    own->callers_class = ip_alloc(s->defs.n_contexts + 1, 1);
    own->instr_matches = ip_alloc(s->defs.n_instrs + 1, 1);
    match_blocks(s);
    match_marks(s);
    return s;
}

/* The first of `n` ascending offsets that is beyond one. */
static uint64_t beyond(const uint64_t *offsets, uint64_t n, uint64_t offset) {
    uint64_t low = 0;
    while (low < n) {
        uint64_t middle = low + (n - low) / 2;
        if (offsets[middle] <= offset)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

void ip_dg_wanted_at(const struct ip_dg *s, const uint64_t *offsets, uint64_t n, uint64_t *counts) {
    uint64_t *begun = ip_alloc(n + 1, sizeof *begun), *gone = ip_alloc(n + 1, sizeof *gone);
    bool by_range = s->filter && s->filter->by_range;
    for (uint64_t i = 0; by_range && i < s->n_blocks; i++) {
        if (!s->blocks[i].matches) continue;
        begun[beyond(offsets, n, s->blocks[i].offset)]++;
        gone[beyond(offsets, n, s->blocks[i].gone)]++;
    }
    for (uint64_t i = 0; by_range && i < s->n_marks; i++) {
        if (!s->marks[i].matches || s->marks[i].type != IP_DG_TRACK_RANGE) continue;
        begun[beyond(offsets, n, s->marks[i].offset)]++;
        gone[beyond(offsets, n, s->marks[i].gone)]++;
    }
    uint64_t there = 0;
    for (uint64_t i = 0; i < n; i++) counts[i] = there = there + begun[i] - gone[i];
    free(begun);
    free(gone);
}

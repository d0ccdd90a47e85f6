/* Heap blocks, tracked ranges and events: when they were there, and whether the filter wants them. */
#include <string.h>

#include "formats/datagrind/private/own.h"
#include "jit/lastwords.h"

#define NONE 0xffffffffu

uint32_t dg_label_number(const char *labels, uint64_t n, const char *label) {
    for (uint64_t i = 0; i < n; i++, labels += strlen(labels) + 1)
        if (strcmp(labels, label) == 0) return (uint32_t)i + 1;
    return 0;
}

static uint64_t label_hash(const char *label) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *label; label++) h = (h ^ (uint8_t)*label) * 0x100000001b3u;
    return h;
}

static uint64_t last_of(uint64_t address, uint64_t length) {
    return length - 1 > IP_DG_NEVER - address ? IP_DG_NEVER : address + length - 1;
}

static void want(struct ip_dg *s, uint64_t address, uint64_t length) {
    if (length) dg_live_add(&dg_own(s)->wanted, address, last_of(address, length));
}

static void unwant(struct ip_dg *s, uint64_t address, uint64_t length) {
    if (length) dg_live_remove(&dg_own(s)->wanted, address, last_of(address, length));
}

static bool has_room(struct ip_dg *s, uint64_t n) {
    if (n < IP_DG_MOST_HISTORY) return true;
    if (!dg_own(s)->told_not_kept) dg_problem(s, IP_DG_NOT_KEPT, 0, 0);
    dg_own(s)->told_not_kept = true;
    return false;
}

/* ---- Marks --------------------------------------------------------------------------------------- */

/* Where the mark of the record at s->offset is: NONE if it is not kept. */
static uint32_t mark_at(struct ip_dg *s, uint32_t type, uint64_t address, uint64_t length, uint32_t matches) {
    struct dg_own *own = dg_own(s);
    if (own->whole) {
        const struct ip_dg_mark *marks = own->whole->marks;
        uint64_t low = 0, high = own->whole->n_marks;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (marks[middle].offset < s->offset)
                low = middle + 1;
            else
                high = middle;
        }
        return low < own->whole->n_marks && marks[low].offset == s->offset ? (uint32_t)low : NONE;
    }
    if (!has_room(s, s->n_marks)) return NONE;
    uint64_t had = own->room.marks;
    s->marks = dg_grow(s->marks, &own->room.marks, s->n_marks + 1, sizeof *s->marks);
    if (own->room.marks != had)
        own->mark_before = ip_realloc(own->mark_before, own->room.marks * sizeof *own->mark_before);
    s->marks[s->n_marks] = (struct ip_dg_mark){.address = address,
                                               .length = length,
                                               .begin = s->n_instrs,
                                               .end = IP_DG_NEVER,
                                               .offset = s->offset,
                                               .gone = IP_DG_NEVER,
                                               .type = type,
                                               .matches = matches};
    return (uint32_t)s->n_marks++;
}

/* Make a mark the newest of its name. */
static void push(struct ip_dg *s, struct dg_map *live, uint64_t key, uint64_t key2, uint32_t mark) {
    uint64_t *newest = dg_map_find(live, key, key2);
    dg_own(s)->mark_before[mark] = newest ? (uint32_t)*newest : NONE;
    *dg_map_add(live, key, key2, mark) = mark;
}

/* End the newest mark of a name: NONE if there is none. */
static uint32_t pop(struct ip_dg *s, struct dg_map *live, uint64_t key, uint64_t key2) {
    uint64_t *newest = dg_map_find(live, key, key2);
    if (!newest) return NONE;
    uint32_t mark = (uint32_t)*newest, older = dg_own(s)->mark_before[mark];
    if (older == NONE)
        dg_map_remove(live, key, key2);
    else
        *newest = older;
    s->marks[mark].end = s->n_instrs;
    s->marks[mark].gone = s->offset;
    return mark;
}

void dg_track(struct ip_dg *s, uint64_t address, uint64_t length, const char *label) {
    const struct ip_dg_filter *f = s->filter;
    bool matches = f && f->by_range && (f->any_range || dg_label_number(f->range_labels, f->n_range_labels, label));
    uint32_t mark = mark_at(s, IP_DG_TRACK_RANGE, address, length, matches);
    if (mark == NONE) return;
    if (!dg_own(s)->whole) push(s, &dg_own(s)->live_marks, address, length, mark);
    if (matches) want(s, address, length);
}

void dg_untrack(struct ip_dg *s, uint64_t address, uint64_t length) {
    if (dg_own(s)->whole) {
        if (dg_map_find(&dg_own(dg_own(s)->whole)->ends, s->offset, 0)) unwant(s, address, length);
        return;
    }
    uint32_t mark = pop(s, &dg_own(s)->live_marks, address, length);
    if (mark == NONE) {
        if (!dg_own(s)->told_not_kept) dg_problem(s, IP_DG_NOT_TRACKED, address, length);
        return;
    }
    if (!s->marks[mark].matches) return;
    unwant(s, address, length);
    dg_map_add(&dg_own(s)->ends, s->offset, 0, 0);
}

/* One level more or less of a wanted label; numbers begin with 1, 0: it is not wanted. */
static void change_depth(struct ip_dg *s, uint32_t number, int by) {
    struct dg_own *own = dg_own(s);
    if (!number) return;
    if (!own->event_depth) own->event_depth = ip_alloc(s->filter->n_event_labels, sizeof *own->event_depth);
    uint64_t *depth = &own->event_depth[number - 1];
    if (by < 0 && *depth == 0) return;
    own->active_events -= *depth != 0;
    *depth += (uint64_t)(int64_t)by;
    own->active_events += *depth != 0;
}

static uint32_t wanted_label(const struct ip_dg *s, const char *label) {
    const struct ip_dg_filter *f = s->filter;
    return f && f->by_event ? dg_label_number(f->event_labels, f->n_event_labels, label) : 0;
}

void dg_start_event(struct ip_dg *s, const char *label) {
    uint32_t number = wanted_label(s, label);
    change_depth(s, number, 1);
    if (dg_own(s)->whole) return;
    uint32_t mark = mark_at(s, IP_DG_START_EVENT, 0, label_hash(label), number);
    if (mark != NONE) push(s, &dg_own(s)->live_events, label_hash(label), 0, mark);
}

void dg_end_event(struct ip_dg *s, const char *label) {
    change_depth(s, wanted_label(s, label), -1);
    if (!dg_own(s)->whole) pop(s, &dg_own(s)->live_events, label_hash(label), 0);
}

void dg_text(struct ip_dg *s, uint64_t address) {
    if (!dg_own(s)->whole) mark_at(s, IP_DG_TEXT_AVMA, address, 0, false);
}

/* ---- The heap ------------------------------------------------------------------------------------ */

static void end_block(struct ip_dg *s, struct ip_dg_block *b) {
    b->end = s->n_instrs;
    b->gone = s->offset;
    if (b->matches) unwant(s, b->address, b->size);
}

bool dg_allocation_matches(const struct ip_dg *s, const struct ip_dg_filter *f, uint64_t offset, const uint8_t *ips,
                           uint64_t n_ips) {
    for (uint64_t i = 0; i < n_ips; i++)
        if (dg_range_ip(f, offset, dg_word(s, ips + i * s->word_size) - (i != 0))) return true;
    return false;
}

void dg_malloc(struct ip_dg *s, uint64_t address, uint64_t size, const uint8_t *ips, uint64_t n_ips) {
    struct dg_own *own = dg_own(s);
    const struct ip_dg_filter *f = s->filter;
    if (own->whole && !f) return;
    dg_free_block(s, address); /* its end was not seen */
    bool matches = f && f->by_range && (f->any_block || dg_allocation_matches(s, f, s->offset, ips, n_ips));
    if (matches) want(s, address, size);
    if (own->whole) {
        if (matches) *dg_map_add(&own->live_blocks, address, 0, size) = size;
        return;
    }
    if (!has_room(s, s->n_blocks)) {
        if (matches) unwant(s, address, size);
        return;
    }
    uint64_t sum = 0, like = s->n_blocks;
    for (uint64_t i = 0; s->collects_ips && i < n_ips; i++) {
        uint64_t ip = dg_word(s, ips + i * s->word_size) - (i != 0);
        dg_collect(s, ip);
        sum = dg_mixed(sum, ip);
    }
    if (s->collects_ips) like = *dg_map_add(&own->heap_stacks, sum, n_ips, like);
    s->blocks = dg_grow(s->blocks, &own->room.blocks, s->n_blocks + 1, sizeof *s->blocks);
    s->blocks[s->n_blocks] = (struct ip_dg_block){.address = address,
                                                  .size = size,
                                                  .begin = s->n_instrs,
                                                  .end = IP_DG_NEVER,
                                                  .offset = s->offset,
                                                  .gone = IP_DG_NEVER,
                                                  .like = like,
                                                  .matches = matches};
    *dg_map_add(&own->live_blocks, address, 0, s->n_blocks) = s->n_blocks;
    s->n_blocks++;
}

void dg_free_block(struct ip_dg *s, uint64_t address) {
    struct dg_own *own = dg_own(s);
    uint64_t *live = dg_map_find(&own->live_blocks, address, 0);
    if (!live) return;
    if (own->whole)
        unwant(s, address, *live); /* a replay has the sizes of those that match */
    else
        end_block(s, &s->blocks[*live]);
    dg_map_remove(&own->live_blocks, address, 0);
}

/* ---- Replays ------------------------------------------------------------------------------------- */

void dg_restore(struct ip_dg *s) {
    struct dg_own *own = dg_own(s);
    const struct ip_dg *whole = own->whole;
    for (uint64_t i = 0; s->filter->by_range && i < whole->n_blocks && whole->blocks[i].offset < s->offset; i++) {
        const struct ip_dg_block *b = &whole->blocks[i];
        if (!b->matches || b->gone < s->offset) continue;
        want(s, b->address, b->size);
        *dg_map_add(&own->live_blocks, b->address, 0, b->size) = b->size;
    }
    for (uint64_t i = 0; i < whole->n_marks && whole->marks[i].offset < s->offset; i++) {
        const struct ip_dg_mark *m = &whole->marks[i];
        if (!m->matches || m->gone < s->offset) continue;
        if (m->type == IP_DG_START_EVENT)
            change_depth(s, m->matches, 1);
        else
            want(s, m->address, m->length);
    }
}

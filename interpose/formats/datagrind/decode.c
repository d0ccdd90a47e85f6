/* The manual's record format; docs/spec/traces.md has the numbers. */
#include "formats/datagrind/decode.h"

#include <stdlib.h>
#include <string.h>

#include "formats/datagrind/private/own.h"
#include "jit/lastwords.h"

#define HEADER_BYTES 14

static const char signature[11] = "DATAGRIND1";

/* ---- Arrays ------------------------------------------------------------------------------------- */

void *dg_grow(void *old, uint64_t *room, uint64_t n, uint64_t size) {
    if (n <= *room) return old;
    uint64_t more = *room ? *room * 2 : 64;
    *room = n > more ? n : more;
    return ip_realloc(old, *room * size);
}

static bool in(const uint64_t *sorted, uint64_t n, uint64_t value) {
    uint64_t low = 0;
    while (low < n) {
        uint64_t middle = low + (n - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else if (sorted[middle] == value)
            return true;
        else
            n = middle;
    }
    return false;
}

uint64_t dg_n_begun(const struct ip_dg_filter *f, uint64_t offset) {
    uint64_t low = 0, n = f->n_later;
    while (low < n) {
        uint64_t middle = low + (n - low) / 2;
        if (f->later_offsets[middle] <= offset)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static bool later(const uint64_t *ips, const uint64_t *first, uint64_t which, uint64_t ip) {
    return in(ips + first[which], first[which + 1] - first[which], ip);
}

bool dg_event_ip(const struct ip_dg_filter *f, uint64_t offset, uint64_t ip) {
    uint64_t n = dg_n_begun(f, offset);
    return n ? later(f->later_event_ips, f->later_event_first, n - 1, ip) : in(f->event_ips, f->n_event_ips, ip);
}

bool dg_range_ip(const struct ip_dg_filter *f, uint64_t offset, uint64_t ip) {
    uint64_t n = dg_n_begun(f, offset);
    return n ? later(f->later_range_ips, f->later_range_first, n - 1, ip) : in(f->range_ips, f->n_range_ips, ip);
}

/* ---- Problems ------------------------------------------------------------------------------------ */

void dg_problem(struct ip_dg *s, uint32_t reason, uint64_t a, uint64_t b) {
    if (s->n_problems < IP_DG_MOST_PROBLEMS)
        s->problems[s->n_problems] = (struct ip_dg_problem){s->offset, a, b, reason};
    s->n_problems++;
}

static int fatal(struct ip_dg *s, uint32_t reason, uint64_t a) {
    s->fatal = (struct ip_dg_problem){s->offset, a, 0, reason};
    return IP_DG_FATAL;
}

static void check_size(struct ip_dg *s, uint64_t expected, uint64_t there) {
    if (there > expected) dg_problem(s, IP_DG_TOO_LARGE, expected, there);
}

/* ---- Code addresses ------------------------------------------------------------------------------ */

void dg_collect(struct ip_dg *s, uint64_t ip) {
    struct dg_own *own = dg_own(s);
    if (s->collects_ips && own->ips.n < IP_DG_MOST_IPS) dg_map_add(&own->ips, ip, 0, 0);
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void ip_dg_ips(struct ip_dg *s) {
    struct dg_map *found = &dg_own(s)->ips;
    free(s->ips);
    s->ips = ip_alloc(found->n + 1, sizeof *s->ips);
    s->n_ips = 0;
    for (uint64_t i = 0; i < found->cap; i++)
        if (found->entries[i].used) s->ips[s->n_ips++] = found->entries[i].key;
    qsort(s->ips, s->n_ips, sizeof *s->ips, by_value);
}

/* ---- Definitions --------------------------------------------------------------------------------- */

static int bbdef(struct ip_dg *s, const uint8_t *p, uint64_t size) {
    uint64_t word = s->word_size;
    if (size < 1 + word) return fatal(s, IP_DG_TOO_SHORT, 0);
    uint64_t n_instrs = p[0], n_accesses = dg_word(s, p + 1);
    uint64_t fixed = 1 + word + n_instrs * (word + 1);
    if (size < fixed || n_accesses > (size - fixed) / 3) return fatal(s, IP_DG_TOO_SHORT, 0);
    check_size(s, fixed + 3 * n_accesses, size);
    if (n_instrs == 0) return dg_problem(s, IP_DG_NO_INSTRUCTIONS, 0, 0), 0;
    const uint8_t *accesses = p + fixed;
    for (uint64_t i = 0; i < n_accesses; i++)
        if (accesses[3 * i + 2] >= n_instrs)
            return dg_problem(s, IP_DG_BAD_INSTRUCTION, accesses[3 * i + 2], n_instrs), 0;
    s->n_bbdefs++;
    struct dg_own *own = dg_own(s);
    if (own->whole) return 0;
    struct ip_dg_definitions *d = &s->defs;
    struct dg_columns *room = &own->room;
    d->bbdefs = dg_grow(d->bbdefs, &room->bbdefs, d->n_bbdefs + 1, sizeof *d->bbdefs);
    struct ip_dg_bbdef *def = &d->bbdefs[d->n_bbdefs++];
    *def = (struct ip_dg_bbdef){d->n_instrs, d->n_accesses, s->offset, (uint32_t)n_instrs, (uint32_t)n_accesses, 0};
    uint64_t had = room->instrs;
    d->instr_address = dg_grow(d->instr_address, &room->instrs, d->n_instrs + n_instrs, sizeof *d->instr_address);
    if (room->instrs != had) d->instr_size = ip_realloc(d->instr_size, room->instrs);
    if (s->filter)
        own->instr_matches = dg_grow(own->instr_matches, &own->instr_matches_room, d->n_instrs + n_instrs, 1);
    for (uint64_t i = 0; i < n_instrs; i++) {
        const uint8_t *instr = p + 1 + word + i * (word + 1);
        uint64_t at = d->n_instrs++;
        d->instr_address[at] = dg_word(s, instr);
        d->instr_size[at] = instr[word];
        dg_collect(s, d->instr_address[at]);
        if (s->filter) own->instr_matches[at] = dg_event_ip(s->filter, s->offset, d->instr_address[at]);
    }
    had = room->accesses;
    d->access_dir = dg_grow(d->access_dir, &room->accesses, d->n_accesses + n_accesses, 1);
    if (room->accesses != had) {
        d->access_size = ip_realloc(d->access_size, room->accesses);
        d->access_instr = ip_realloc(d->access_instr, room->accesses);
    }
    for (uint64_t i = 0; i < n_accesses; i++, d->n_accesses++) {
        d->access_dir[d->n_accesses] = accesses[3 * i];
        def->has_fetches |= accesses[3 * i] == IP_DG_EXEC;
        d->access_size[d->n_accesses] = accesses[3 * i + 1];
        d->access_instr[d->n_accesses] = accesses[3 * i + 2];
    }
    return 0;
}

static int context(struct ip_dg *s, const uint8_t *p, uint64_t size) {
    uint64_t word = s->word_size;
    if (size < word + 1) return fatal(s, IP_DG_TOO_SHORT, 0);
    uint64_t index = dg_word(s, p), n_stack = p[word];
    if ((size - word - 1) / word < n_stack) return fatal(s, IP_DG_TOO_SHORT, 0);
    check_size(s, word + 1 + n_stack * word, size);
    if (n_stack == 0) return dg_problem(s, IP_DG_NO_STACK, 0, 0), 0;
    if (index >= s->n_bbdefs) return dg_problem(s, IP_DG_BAD_INDEX, index, s->n_bbdefs), 0;
    s->n_contexts++;
    struct dg_own *own = dg_own(s);
    if (own->whole) return 0;
    struct ip_dg_definitions *d = &s->defs;
    uint64_t had = own->room.contexts;
    d->context_bbdef = dg_grow(d->context_bbdef, &own->room.contexts, d->n_contexts + 1, sizeof *d->context_bbdef);
    if (own->room.contexts != had) {
        d->context_offset = ip_realloc(d->context_offset, own->room.contexts * sizeof *d->context_offset);
        d->context_like = ip_realloc(d->context_like, own->room.contexts * sizeof *d->context_like);
    }
    d->context_bbdef[d->n_contexts] = (uint32_t)index;
    d->context_offset[d->n_contexts] = s->offset;
    bool wanted = false;
    uint64_t sum = 0;
    for (uint64_t i = 1; i < n_stack; i++) {
        /* Callers are return addresses, or lie just before them: the call is what both are about. */
        uint64_t ip = dg_word(s, p + word + 1 + i * word) - 1;
        dg_collect(s, ip);
        sum = dg_mixed(sum, ip);
        if (s->filter && !wanted) wanted = dg_event_ip(s->filter, s->offset, ip);
    }
    uint64_t like = d->n_contexts;
    if (s->collects_ips) like = *dg_map_add(&own->stacks, sum, n_stack, like);
    d->context_like[d->n_contexts] = (uint32_t)like;
    if (s->filter) {
        own->context_class = dg_grow(own->context_class, &own->context_class_room, d->n_contexts + 1, 1);
        own->context_class[d->n_contexts] = wanted ? DG_ALL : dg_class_of_instrs(own, &d->bbdefs[index]);
    }
    d->n_contexts++;
    return 0;
}

/* ---- Ranges, events, objects, the heap ------------------------------------------------------------ */

const char *dg_string(const uint8_t **p, const uint8_t *end) {
    const uint8_t *zero = *p < end ? memchr(*p, 0, (size_t)(end - *p)) : NULL;
    if (!zero) return NULL;
    const char *text = (const char *)*p;
    *p = zero + 1;
    return text;
}

static int history(struct ip_dg *s, uint32_t type, const uint8_t *p, uint64_t size) {
    static const uint8_t words[] = {[IP_DG_TRACK_RANGE] = 2,
                                    [IP_DG_UNTRACK_RANGE] = 2,
                                    [IP_DG_TEXT_AVMA] = 1,
                                    [IP_DG_MALLOC_BLOCK] = 3,
                                    [IP_DG_FREE_BLOCK] = 1};
    uint64_t word = s->word_size, n = words[type], w[3] = {0};
    if (size < n * word) return fatal(s, IP_DG_TOO_SHORT, 0);
    for (uint64_t i = 0; i < n; i++) w[i] = dg_word(s, p + i * word);
    const uint8_t *rest = p + n * word, *end = p + size;
    const char *text = NULL;
    bool has_text = type != IP_DG_UNTRACK_RANGE && type != IP_DG_MALLOC_BLOCK && type != IP_DG_FREE_BLOCK;
    if (type == IP_DG_TRACK_RANGE && !dg_string(&rest, end)) has_text = false, text = NULL;
    if (type == IP_DG_MALLOC_BLOCK) {
        if ((uint64_t)(end - rest) / word < w[2]) return fatal(s, IP_DG_TOO_SHORT, 0);
        rest += w[2] * word;
    } else if (type != IP_DG_UNTRACK_RANGE && type != IP_DG_FREE_BLOCK) {
        if (has_text) text = dg_string(&rest, end);
        if (!text) return dg_problem(s, IP_DG_UNTERMINATED, 0, 0), 0;
    }
    check_size(s, (uint64_t)(rest - p), size);
    switch (type) {
    case IP_DG_TRACK_RANGE: dg_track(s, w[0], w[1], text); break;
    case IP_DG_UNTRACK_RANGE: dg_untrack(s, w[0], w[1]); break;
    case IP_DG_START_EVENT: dg_start_event(s, text); break;
    case IP_DG_END_EVENT: dg_end_event(s, text); break;
    case IP_DG_TEXT_AVMA: dg_text(s, w[0]); break;
    case IP_DG_MALLOC_BLOCK: dg_malloc(s, w[0], w[1], p + 3 * word, w[2]); break;
    default: dg_free_block(s, w[0]);
    }
    return 0;
}

/* ---- Runs ---------------------------------------------------------------------------------------- */

struct run {
    const struct ip_dg_definitions *d;
    const struct ip_dg_bbdef *def;
    const uint8_t *addresses;
    uint64_t n_addresses, n_done, context;
    enum dg_class class;
};

static const struct ip_dg_definitions *definitions(const struct ip_dg *s) {
    const struct ip_dg *whole = dg_own(s)->whole;
    return whole ? &whole->defs : &s->defs;
}

/* The reading that has what the conditions say of definitions. */
static const struct ip_dg *asked(const struct ip_dg *s) { return dg_own(s)->whole ? dg_own(s)->whole : s; }

static bool wanted(struct ip_dg *s, const struct run *r, uint64_t instr, uint64_t address) {
    if (r->class == DG_SOME && !dg_own(asked(s))->instr_matches[r->def->first_instr + instr]) return false;
    return !s->filter->by_range || dg_live_holds(&dg_own(s)->wanted, address);
}

static void give(struct ip_dg *s, const struct run *r, struct ip_dg_accesses *out, uint64_t instr, uint64_t address,
                 uint8_t size, uint8_t dir) {
    if (s->filter && !wanted(s, r, instr, address)) return;
    uint64_t n = out->count++;
    out->instr[n] = s->n_instrs + instr;
    out->address[n] = address;
    out->ip[n] = r->d->instr_address[r->def->first_instr + instr];
    out->context[n] = (uint32_t)r->context;
    out->size[n] = size;
    out->dir[n] = dir;
}

/* Filters and fetches.  false: the columns are full, and run_done says how far it came. */
static bool give_slowly(struct ip_dg *s, const struct run *r, struct ip_dg_accesses *out) {
    const struct ip_dg_definitions *d = r->d;
    uint64_t first = r->def->first_access, n_instrs = r->n_done < r->def->n_instrs ? r->n_done : r->def->n_instrs;
    bool fetches = s->with_fetches && !r->def->has_fetches;
    uint64_t done = 0, access = 0, instr = 0;
    while (access < r->n_addresses || (fetches && instr < n_instrs)) {
        bool is_fetch = fetches && instr < n_instrs &&
                        (access >= r->n_addresses || d->access_instr[first + access] >= instr);
        if (done++ >= s->run_done) {
            if (out->count == out->capacity) return false;
            if (is_fetch) {
                uint64_t at = r->def->first_instr + instr;
                give(s, r, out, instr, d->instr_address[at], d->instr_size[at], IP_DG_EXEC);
            } else if (d->access_dir[first + access] != IP_DG_EXEC || s->with_fetches) {
                give(s, r, out, d->access_instr[first + access], dg_word(s, r->addresses + access * s->word_size),
                     d->access_size[first + access], d->access_dir[first + access]);
            }
            s->run_done++;
        }
        if (is_fetch)
            instr++;
        else
            access++;
    }
    return true;
}

static bool give_all(struct ip_dg *s, const struct run *r, struct ip_dg_accesses *out) {
    const struct ip_dg_definitions *d = r->d;
    uint64_t from = s->run_done, n = r->n_addresses - from, room = out->capacity - out->count;
    bool fits = n <= room;
    if (!fits) n = room;
    const uint8_t *dir = d->access_dir + r->def->first_access + from;
    const uint8_t *size = d->access_size + r->def->first_access + from;
    const uint8_t *instr = d->access_instr + r->def->first_access + from;
    const uint64_t *ips = d->instr_address + r->def->first_instr;
    uint64_t at = out->count, base = s->n_instrs;
    if (s->word_size == 8)
        memcpy(out->address + at, r->addresses + from * 8, n * 8);
    else
        for (uint64_t i = 0; i < n; i++) out->address[at + i] = dg_word(s, r->addresses + (from + i) * 4);
    for (uint64_t i = 0; i < n; i++) {
        out->instr[at + i] = base + instr[i];
        out->ip[at + i] = ips[instr[i]];
        out->context[at + i] = (uint32_t)r->context;
        out->size[at + i] = size[i];
        out->dir[at + i] = dir[i];
    }
    out->count += n;
    s->run_done += n;
    return fits;
}

/* false: the columns are full. */
static bool give_wanted(struct ip_dg *s, struct run *r, struct ip_dg_accesses *out) {
    const struct ip_dg_filter *f = s->filter;
    r->class = f && f->by_event && !dg_own(s)->active_events ? dg_class_of(asked(s), r->context) : DG_ALL;
    if (r->class == DG_NONE) return true;
    bool is_all = r->class == DG_ALL && !(f && f->by_range) && !s->with_fetches && !r->def->has_fetches;
    return is_all ? give_all(s, r, out) : give_slowly(s, r, out);
}

static int bbrun(struct ip_dg *s, const uint8_t *p, uint64_t size, struct ip_dg_accesses *out) {
    uint64_t word = s->word_size;
    if (size < word + 1) return fatal(s, IP_DG_TOO_SHORT, 0);
    struct run r = {.d = definitions(s), .context = dg_word(s, p), .n_done = p[word], .addresses = p + word + 1};
    r.n_addresses = (size - word - 1) / word;
    if (r.context >= s->n_contexts) return dg_problem(s, IP_DG_BAD_INDEX, r.context, s->n_contexts), 0;
    r.def = &r.d->bbdefs[r.d->context_bbdef[r.context]];
    if (r.n_addresses > r.def->n_accesses) return dg_problem(s, IP_DG_TOO_MANY, r.n_addresses, r.def->n_accesses), 0;
    /* A run begins in columns that have room for it, if any have: so there are places between records to begin at. */
    uint64_t most = r.n_addresses + (s->with_fetches ? r.def->n_instrs : 0);
    if (!s->run_done && out->count && out->capacity - out->count < most) return IP_DG_FULL;
    if (!give_wanted(s, &r, out)) return IP_DG_FULL;
    if ((size - word - 1) % word) check_size(s, word + 1 + r.n_addresses * word, size);
    s->run_done = 0;
    s->n_bbruns++;
    s->n_instrs += r.n_done;
    s->n_accesses += r.n_addresses;
    return 0;
}

/* ---- Framing ------------------------------------------------------------------------------------- */

static int header(struct ip_dg *s, const uint8_t *data, uint64_t size) {
    if (size < 2) return s->need = 2, IP_DG_MORE;
    if (data[0] != IP_DG_HEADER || data[1] != HEADER_BYTES) return fatal(s, IP_DG_NO_HEADER, 0);
    if (size < 2 + HEADER_BYTES) return s->need = 2 + HEADER_BYTES, IP_DG_MORE;
    const uint8_t *p = data + 2;
    if (memcmp(p, signature, sizeof signature) != 0) return fatal(s, IP_DG_BAD_SIGNATURE, 0);
    if (p[13] != 4 && p[13] != 8) return fatal(s, IP_DG_BAD_WORD_SIZE, p[13]);
    s->version = p[11];
    s->big_endian = p[12];
    s->word_size = p[13];
    if (s->version != 1) dg_problem(s, IP_DG_VERSION, s->version, 0);
    s->offset += 2 + HEADER_BYTES;
    s->n_records++;
    return 0;
}

static int payload(struct ip_dg *s, uint32_t type, const uint8_t *p, uint64_t size, struct ip_dg_accesses *out) {
    switch (type) {
    case IP_DG_BBRUN: return bbrun(s, p, size, out);
    case IP_DG_BBDEF: return bbdef(s, p, size);
    case IP_DG_CONTEXT: return context(s, p, size);
    case IP_DG_TRACK_RANGE:
    case IP_DG_UNTRACK_RANGE:
    case IP_DG_START_EVENT:
    case IP_DG_END_EVENT:
    case IP_DG_TEXT_AVMA:
    case IP_DG_MALLOC_BLOCK:
    case IP_DG_FREE_BLOCK: return history(s, type, p, size);
    case IP_DG_HEADER: return dg_problem(s, IP_DG_SECOND_HEADER, 0, 0), 0;
    default: return dg_problem(s, IP_DG_UNKNOWN_TYPE, type, 0), 0;
    }
}

int ip_dg_decode(struct ip_dg *s, const uint8_t *data, uint64_t size, struct ip_dg_accesses *out) {
    uint64_t at = 0;
    if (!s->word_size) {
        uint64_t before = s->offset;
        int status = header(s, data, size);
        if (s->offset == before) return status;
        at = s->offset - before;
    }
    for (;;) {
        if (size - at < 2) return s->need = 2, IP_DG_MORE;
        uint32_t type = data[at];
        uint64_t length = data[at + 1], begin = 2;
        if (type >= 128) {
            length = 1;
            begin = 1;
        } else if (length == 255) {
            begin = 10;
            if (size - at < begin) return s->need = begin, IP_DG_MORE;
            memcpy(&length, data + at + 2, sizeof length);
        }
        if (length > IP_DG_LONGEST) {
            /* The caller finds out that the file ends before the record does. */
            if (length > (uint64_t)1 << 62) return s->need = length, IP_DG_MORE;
            dg_problem(s, IP_DG_OVERSIZE, length, 0);
            s->skipped = s->offset;
            s->offset += begin + length;
            s->n_records++;
            if (size - at < begin + length) return s->need = 0, IP_DG_MORE;
            at += begin + length;
            continue;
        }
        if (size - at - begin < length) return s->need = begin + length, IP_DG_MORE;
        int status = payload(s, type, data + at + begin, length, out);
        if (status) return status;
        at += begin + length;
        s->offset += begin + length;
        s->n_records++;
    }
}

/* ---- Life ---------------------------------------------------------------------------------------- */

struct ip_dg *ip_dg_new(void) {
    struct ip_dg *s = ip_alloc(1, sizeof *s);
    s->own = ip_alloc(1, sizeof(struct dg_own));
    return s;
}

static void free_all(void *const *arrays, unsigned n) {
    for (unsigned i = 0; i < n; i++) free(arrays[i]);
}

void ip_dg_free(struct ip_dg *s) {
    struct dg_own *own = s->own;
    const struct ip_dg *lender = own->lender;
    struct ip_dg_definitions *d = &s->defs;
    void *definitions[] = {d->bbdefs,       d->instr_address, d->instr_size,     d->access_dir,  d->access_size,
                           d->access_instr, d->context_bbdef, d->context_offset, d->context_like};
    void *history[] = {lender && s->blocks == lender->blocks ? NULL : s->blocks,
                       lender && s->marks == lender->marks ? NULL : s->marks};
    void *rest[] = {s->ips,
                    own->live_blocks.entries,
                    own->mark_before,
                    own->live_marks.entries,
                    own->live_events.entries,
                    own->ips.entries,
                    own->ends.entries,
                    own->stacks.entries,
                    own->heap_stacks.entries,
                    own->event_depth,
                    own->context_class,
                    own->callers_class,
                    own->instr_matches};
    if (!lender) free_all(definitions, sizeof definitions / sizeof *definitions);
    free_all(history, sizeof history / sizeof *history);
    free_all(rest, sizeof rest / sizeof *rest);
    dg_live_free(&own->wanted);
    free(own);
    free(s);
}

struct ip_dg *ip_dg_replay(const struct ip_dg *whole, uint64_t offset, uint64_t n_instrs, uint64_t n_bbdefs,
                           uint64_t n_contexts) {
    struct ip_dg *s = ip_dg_new();
    dg_own(s)->whole = whole;
    s->with_fetches = whole->with_fetches;
    s->filter = whole->filter;
    s->word_size = whole->word_size;
    s->offset = offset;
    s->n_instrs = n_instrs;
    /* Fewer than there are: an index could say anything. */
    s->n_bbdefs = n_bbdefs < whole->defs.n_bbdefs ? n_bbdefs : whole->defs.n_bbdefs;
    s->n_contexts = n_contexts < whole->defs.n_contexts ? n_contexts : whole->defs.n_contexts;
    if (s->filter) dg_restore(s);
    return s;
}

void *dg_copy(const void *from, uint64_t n, uint64_t size) {
    void *to = ip_alloc(n + 1, size);
    if (n) memcpy(to, from, n * size);
    return to;
}

int ip_dg_adopt(struct ip_dg *s, const struct ip_dg_definitions *defs, const struct ip_dg_block *blocks,
                uint64_t n_blocks, const struct ip_dg_mark *marks, uint64_t n_marks) {
    for (uint64_t i = 0; i < defs->n_bbdefs; i++) {
        const struct ip_dg_bbdef *def = &defs->bbdefs[i];
        if (def->n_instrs == 0 || def->first_instr > defs->n_instrs ||
            def->n_instrs > defs->n_instrs - def->first_instr || def->first_access > defs->n_accesses ||
            def->n_accesses > defs->n_accesses - def->first_access)
            return 0;
        for (uint64_t k = 0; k < def->n_accesses; k++)
            if (defs->access_instr[def->first_access + k] >= def->n_instrs) return 0;
    }
    for (uint64_t i = 0; i < defs->n_contexts; i++)
        if (defs->context_bbdef[i] >= defs->n_bbdefs || defs->context_like[i] > i) return 0;
    for (uint64_t i = 0; i < n_blocks; i++)
        if (blocks[i].like > i) return 0;
    struct ip_dg_definitions *d = &s->defs;
    *d = *defs;
    d->bbdefs = dg_copy(defs->bbdefs, d->n_bbdefs, sizeof *d->bbdefs);
    d->instr_address = dg_copy(defs->instr_address, d->n_instrs, sizeof *d->instr_address);
    d->instr_size = dg_copy(defs->instr_size, d->n_instrs, 1);
    d->access_dir = dg_copy(defs->access_dir, d->n_accesses, 1);
    d->access_size = dg_copy(defs->access_size, d->n_accesses, 1);
    d->access_instr = dg_copy(defs->access_instr, d->n_accesses, 1);
    d->context_bbdef = dg_copy(defs->context_bbdef, d->n_contexts, sizeof *d->context_bbdef);
    d->context_offset = dg_copy(defs->context_offset, d->n_contexts, sizeof *d->context_offset);
    d->context_like = dg_copy(defs->context_like, d->n_contexts, sizeof *d->context_like);
    s->blocks = dg_copy(blocks, n_blocks, sizeof *blocks);
    s->marks = dg_copy(marks, n_marks, sizeof *marks);
    s->n_blocks = n_blocks;
    s->n_marks = n_marks;
    return 1;
}

void ip_dg_adopt_ips(struct ip_dg *s, const uint64_t *ips, uint64_t n_ips) {
    for (uint64_t i = 0; i < n_ips && i < IP_DG_MOST_IPS; i++) dg_map_add(&dg_own(s)->ips, ips[i], 0, 0);
}

uint64_t ip_dg_block_at(const struct ip_dg *s, uint64_t address, uint64_t instr) {
    for (uint64_t i = s->n_blocks; i-- > 0;) {
        const struct ip_dg_block *b = &s->blocks[i];
        if (b->begin <= instr && instr <= b->end && address >= b->address && address - b->address < b->size) return i;
    }
    return s->n_blocks;
}

uint64_t ip_dg_next_mark(const struct ip_dg *s, uint64_t from, uint64_t type, uint64_t address, uint64_t instr) {
    for (uint64_t i = from; i < s->n_marks; i++) {
        const struct ip_dg_mark *m = &s->marks[i];
        if (instr != IP_DG_NEVER && (instr < m->begin || instr > m->end)) continue;
        bool holds = m->type == IP_DG_TRACK_RANGE && address >= m->address && address - m->address < m->length;
        if (type == IP_DG_NEVER ? holds || m->type == IP_DG_START_EVENT : m->type == type) return i;
    }
    return s->n_marks;
}

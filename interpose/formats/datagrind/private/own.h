/* What a reading keeps for itself: who is live now, and which of them are wanted. */
#ifndef INTERPOSE_FORMATS_DATAGRIND_PRIVATE_OWN_H
#define INTERPOSE_FORMATS_DATAGRIND_PRIVATE_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/datagrind/decode.h"

struct dg_map { /* (key, key2) -> value, open addressing */
    struct dg_map_entry {
        uint64_t key, key2, value;
        bool used;
    } *entries;
    uint64_t n, cap;
};

/* Where the value of a key is; NULL: there is none. */
uint64_t *dg_map_find(const struct dg_map *m, uint64_t key, uint64_t key2);
/* The same, made with `value` if there was none. */
uint64_t *dg_map_add(struct dg_map *m, uint64_t key, uint64_t key2, uint64_t value);
void dg_map_remove(struct dg_map *m, uint64_t key, uint64_t key2);

struct dg_live { /* address ranges, which may overlap: which addresses are in one (a treap by start) */
    struct dg_node {
        uint64_t first, last, most; /* most: the highest `last` below this node */
        uint32_t left, right, weight, count;
    } *nodes; /* 0: none */
    uint32_t n, cap, root, free;
    uint64_t random;
    /* Of the pages seen lately, by units of eight bytes: whether all of it is in or out, where that is known. */
    struct dg_page {
        uint64_t page;
        bool is_known;
        uint64_t known[8], in[8];
    } *pages;
};

void dg_live_add(struct dg_live *l, uint64_t first, uint64_t last);
void dg_live_remove(struct dg_live *l, uint64_t first, uint64_t last);
bool dg_live_holds(struct dg_live *l, uint64_t address);
void dg_live_free(struct dg_live *l);

struct dg_columns { /* capacities of what struct ip_dg_definitions counts */
    uint64_t bbdefs, instrs, accesses, contexts, blocks, marks;
};

/* Which accesses of a context's runs the conditions for events want, but for labels. */
enum dg_class { DG_NOT_ASKED, DG_NONE, DG_SOME, DG_ALL };

struct dg_own {
    struct dg_columns room;
    struct dg_map live_blocks; /* address -> index of the newest block there */
    struct dg_map live_marks;  /* (address, length) -> index of the newest range, whose `length` is that */
    struct dg_map live_events; /* (hash of the label) -> index of the newest mark */
    uint32_t *mark_before;     /* the live mark of the same name before that one; ~0: none */
    struct dg_map ips;
    struct dg_map ends;        /* offsets of the records that end wanted ranges */
    struct dg_map stacks;      /* (hash, length) of callers -> the first context; */
    struct dg_map heap_stacks; /* of an allocation's stack -> the first block */
    struct dg_live wanted;     /* ranges and blocks that match */
    uint64_t *event_depth;     /* of each wanted label: how often it is active */
    uint64_t active_events;    /* wanted labels that are */
    uint8_t *context_class;    /* enum dg_class */
    uint8_t *callers_class;    /* of the first context with these callers: of the callers alone */
    uint8_t *instr_matches;    /* the instruction itself is wanted */
    uint64_t context_class_room, instr_matches_room;
    const struct ip_dg *whole;  /* of a replay */
    const struct ip_dg *lender; /* whose definitions these are */
    int fd;                     /* the lender's file */
    bool told_not_kept;
};

static inline struct dg_own *dg_own(const struct ip_dg *s) { return s->own; }

/* `old` with room for `n` items and more; *room is what there is. */
void *dg_grow(void *old, uint64_t *room, uint64_t n, uint64_t size);

/* `n` items of their own. */
void *dg_copy(const void *from, uint64_t n, uint64_t size);

/* A sum of numbers, in order. */
static inline uint64_t dg_mixed(uint64_t sum, uint64_t value) {
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

/* Does a code address of a record at an offset match the filter? */
bool dg_event_ip(const struct ip_dg_filter *f, uint64_t offset, uint64_t ip);
bool dg_range_ip(const struct ip_dg_filter *f, uint64_t offset, uint64_t ip);
/* How many later sets of the filter have begun there. */
uint64_t dg_n_begun(const struct ip_dg_filter *f, uint64_t offset);
/* Does an address of an allocation's stack? */
bool dg_allocation_matches(const struct ip_dg *s, const struct ip_dg_filter *f, uint64_t offset, const uint8_t *ips,
                           uint64_t n_ips);
/* The number of a label from 1 on; 0: it is not among them. */
uint32_t dg_label_number(const char *labels, uint64_t n, const char *label);
/* A string in what is left of a payload; NULL: it does not end. */
const char *dg_string(const uint8_t **p, const uint8_t *end);
/* What the conditions want of a block, if no caller is wanted. */
enum dg_class dg_class_of_instrs(const struct dg_own *own, const struct ip_dg_bbdef *def);
/* Of a reading that is no replay. */
enum dg_class dg_class_of(const struct ip_dg *s, uint64_t context);

void dg_problem(struct ip_dg *s, uint32_t reason, uint64_t a, uint64_t b);
void dg_collect(struct ip_dg *s, uint64_t ip);

static inline uint64_t dg_word(const struct ip_dg *s, const uint8_t *p) {
    if (s->word_size == 8) {
        uint64_t v;
        __builtin_memcpy(&v, p, sizeof v);
        return v;
    }
    uint32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

/* history.c: records that say what memory is and what happens.  `p` is the payload, which has the fixed part. */
void dg_track(struct ip_dg *s, uint64_t address, uint64_t length, const char *label);
void dg_untrack(struct ip_dg *s, uint64_t address, uint64_t length);
void dg_start_event(struct ip_dg *s, const char *label);
void dg_end_event(struct ip_dg *s, const char *label);
void dg_text(struct ip_dg *s, uint64_t address);
void dg_malloc(struct ip_dg *s, uint64_t address, uint64_t size, const uint8_t *ips, uint64_t n_ips);
void dg_free_block(struct ip_dg *s, uint64_t address);
/* The state of ranges and blocks as it was at the replay's place. */
void dg_restore(struct ip_dg *s);

#endif

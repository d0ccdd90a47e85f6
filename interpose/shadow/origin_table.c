/* The tags of memory: a row for each line of 64 bytes in which something has one, found by its number.
 *
 * A copy of a structure with holes tags a few granules of every line, so a row of all 16 takes less than what it would
 * take to find each of them alone, and neighbours are found by one look.  Rows whose tags are all forgotten make room
 * when there is none; what lies on a stack has a second row, of its owners. */
#include "shadow/origin_table.h"

#define GRANULE   2 /* log2 of the bytes that share a tag */
#define LINE      6 /* log2 of a row's */
#define TAGS      (1u << (LINE - GRANULE))
#define ROW_BITS  24 /* of a row's number: tags for 1 GiB of the program's memory.  Beyond, nothing has one. */
#define FIRST_CAP 1024

struct row {
    u32 of[TAGS];
};

/* A slot is key << ROW_BITS | number of the row, from 1 on; 0: free.  A key is the line's number, twice, plus 1 for the
 * owners.  Half as many rows as slots. */
static u64 *slots;
static u64 n_slots;
static struct row *rows;
static u32 n_rows, cap_rows;

/* Blocks of 256 bytes in which something may have a tag, by the low bits of their numbers: every allocation asks what
 * there is to forget, and mostly there is nothing. */
#define BLOCK      8
#define BLOCK_BITS 20
static u8 *tagged;

static u64 block_of(u64 addr) { return (addr >> BLOCK) & ((1ull << BLOCK_BITS) - 1); }
static u64 key_of(u64 addr) { return addr >> LINE << 1; }
static u32 place_in(u64 addr) { return (addr >> GRANULE) & (TAGS - 1); }

/* The slot of a key, or the free one where it would be. */
static u64 *find(u64 key) {
    for (u64 i = key * 0x9e3779b97f4a7c15ull >> 20;; i++) {
        u64 *s = &slots[i & (n_slots - 1)];
        if (!*s || *s >> ROW_BITS == key) return s;
    }
}

static struct row *row_of(u64 slot) { return &rows[slot & ((1u << ROW_BITS) - 1)]; }

static bool is_empty(const struct row *r) {
    u32 any = 0;
    for (u32 i = 0; i < TAGS; i++) any |= r->of[i];
    return !any;
}

static void add(u64 *slot, u64 key, const struct row *content) {
    *slot = key << ROW_BITS | n_rows;
    rows[n_rows++] = *content;
}

/* Make room, by dropping what is empty, and by more. */
static void grow(void) {
    u64 *old = slots, old_n = n_slots, live = 0;
    struct row *old_rows = rows;
    u32 old_cap = cap_rows;
    for (u64 i = 0; i < old_n; i++) live += old[i] && !is_empty(row_of(old[i]));
    cap_rows = FIRST_CAP;
    while (cap_rows < live * 2 && cap_rows < 1u << ROW_BITS) cap_rows *= 2;
    n_slots = 2ull * cap_rows;
    slots = rt_pages(n_slots * sizeof *slots);
    rows = rt_pages(cap_rows * sizeof *rows);
    n_rows = 1;
    if (!tagged) tagged = rt_pages((1u << BLOCK_BITS) / 8);
    for (u64 i = 0; i < old_n; i++) {
        const struct row *r = &old_rows[old[i] & ((1u << ROW_BITS) - 1)];
        u64 key = old[i] >> ROW_BITS;
        if (old[i] && !is_empty(r)) add(find(key), key, r);
    }
    if (!old) return;
    rt_free_pages(old, old_n * sizeof *old);
    rt_free_pages(old_rows, old_cap * sizeof *old_rows);
}

/* The row of a key, made if need be; NULL: there is no room. */
static struct row *row_for(u64 key) {
    static const struct row none;
    u64 *s = slots ? find(key) : NULL;
    if (s && *s) return row_of(*s);
    if (n_rows == cap_rows) {
        /* All of them in use: only what is forgotten one day could make room. */
        if (cap_rows == 1u << ROW_BITS) return NULL;
        grow();
        s = find(key);
    }
    add(s, key, &none);
    return row_of(*s);
}

u32 origin_tag(u64 addr, u32 *owner) {
    if (!n_rows) return 0;
    u64 slot = *find(key_of(addr));
    u32 tag = slot ? row_of(slot)->of[place_in(addr)] : 0;
    if (tag && owner) {
        slot = *find(key_of(addr) | 1);
        *owner = slot ? row_of(slot)->of[place_in(addr)] : 0;
    }
    return tag;
}

void origin_set_tags(u64 lo, u64 hi, u32 tag, const u32 *owner) {
    for (u64 at = lo & -(1ull << GRANULE), end; at < hi; at = end) {
        end = (at | ((1u << LINE) - 1)) + 1;
        if (end > hi) end = hi;
        if (owner) row_for(key_of(at) | 1);
        struct row *r = row_for(key_of(at)); /* may move the other one */
        struct row *owners = owner ? row_for(key_of(at) | 1) : NULL;
        if (!r || (owner && !owners)) return;
        for (u32 i = place_in(at); i <= place_in(end - 1); i++) {
            r->of[i] = tag;
            if (owners) owners->of[i] = *owner;
        }
        tagged[block_of(at) / 8] |= (u8)(1u << block_of(at) % 8);
    }
}

static void forget_row(u64 slot, u64 lo, u64 hi) {
    struct row *r = row_of(slot);
    u64 first = slot >> (ROW_BITS + 1) << LINE, last = first + (1u << LINE) - 1;
    if (lo > last || hi <= first) return;
    for (u32 i = place_in(lo > first ? lo : first), end = place_in(hi <= last ? hi - 1 : last); i <= end; i++)
        r->of[i] = 0;
}

void origin_forget_tags(u64 lo, u64 hi) {
    if (!n_rows) return;
    if ((hi - lo) >> LINE >= n_slots) {
        for (u64 i = 0; i < n_slots; i++)
            if (slots[i]) forget_row(slots[i], lo, hi);
        return;
    }
    for (u64 at = lo, end; at < hi; at = end) {
        end = (at | ((1u << BLOCK) - 1)) + 1;
        if (end > hi) end = hi;
        if (!(tagged[block_of(at) / 8] >> block_of(at) % 8 & 1)) continue;
        for (u64 line = at & -(1ull << LINE); line < end; line += 1u << LINE) {
            u64 slot = *find(key_of(line));
            if (slot) forget_row(slot, lo, hi);
        }
    }
}

/* The tags of memory: a row for each line of 64 bytes in which something has one, found by its number.
 *
 * A copy of a structure with holes tags a few granules of every line, so a row of all 16 takes less than what it would
 * take to find each of them alone, and neighbours are found by one look.  Rows whose tags are all forgotten make
 * room when there is none; what lies on a stack has a second row, of its owners. */
#include "shadow/origin_table.h"

#define FIRST_CAP 1024

u64 *origin_slots, origin_n_slots;
struct origin_row *origin_rows;
static u32 n_rows, cap_rows;

/* Blocks of 256 bytes in which something may have a tag, by the low bits of their numbers: every allocation asks what
 * there is to forget, and mostly there is nothing. */
#define BLOCK      8
#define BLOCK_BITS 20
static u8 *tagged;

static u64 block_of(u64 addr) { return (addr >> BLOCK) & ((1ull << BLOCK_BITS) - 1); }
static void note_block(u64 addr) { tagged[block_of(addr) / 8] |= (u8)(1u << block_of(addr) % 8); }

static bool is_noted(u64 addr) { return tagged[block_of(addr) / 8] >> block_of(addr) % 8 & 1; }

static bool is_empty(const struct origin_row *r) {
    u64 pair;
    for (u32 i = 0; i < ORIGIN_TAGS; i += 2) {
        memcpy(&pair, &r->of[i], sizeof pair);
        if (pair) return false;
    }
    return true;
}

/* Tables of the size that was found right last time: where blocks with tags come and go, they are soon full again. */
#define SPARE_MOST (1u << 14)
static struct {
    u64 *slots;
    struct origin_row *rows;
    u32 cap;
} spare;

static void take_tables(void) {
    origin_n_slots = 2ull * cap_rows;
    if (spare.cap == cap_rows) {
        origin_slots = spare.slots;
        origin_rows = spare.rows;
        spare.cap = 0;
        memset(origin_slots, 0, origin_n_slots * sizeof *origin_slots);
        return;
    }
    origin_slots = rt_pages(origin_n_slots * sizeof *origin_slots);
    origin_rows = rt_pages(cap_rows * sizeof *origin_rows);
}

static void free_tables(u64 *slots, struct origin_row *rows, u32 cap) {
    rt_free_pages(slots, 2ull * cap * sizeof *slots);
    rt_free_pages(rows, cap * sizeof *rows);
}

static void leave_tables(u64 *slots, struct origin_row *rows, u32 cap) {
    if (spare.cap) free_tables(spare.slots, spare.rows, spare.cap);
    spare.cap = 0;
    if (cap != cap_rows || cap > SPARE_MOST) {
        free_tables(slots, rows, cap);
        return;
    }
    spare.slots = slots;
    spare.rows = rows;
    spare.cap = cap;
}

static void add(u64 *slot, u64 key, const struct origin_row *content) {
    *slot = key << ORIGIN_ROW_BITS | n_rows;
    origin_rows[n_rows++] = *content;
}

/* Make room, by dropping what is empty, and by more. */
static void grow(void) {
    u64 *old = origin_slots, old_n = origin_n_slots, live = 0;
    struct origin_row *old_rows = origin_rows;
    u32 old_cap = cap_rows;
    for (u64 i = 0; i < old_n; i++) live += old[i] && !is_empty(origin_row_of(old[i]));
    cap_rows = FIRST_CAP;
    while (cap_rows < live * 2 && cap_rows < 1u << ORIGIN_ROW_BITS) cap_rows *= 2;
    if (cap_rows < old_cap && cap_rows >= old_cap / 8 && old_cap <= SPARE_MOST) cap_rows = old_cap;
    take_tables();
    n_rows = 1;
    if (tagged && old_cap == cap_rows) {
        memset(tagged, 0, (1u << BLOCK_BITS) / 8);
    } else {
        if (tagged) rt_free_pages(tagged, (1u << BLOCK_BITS) / 8);
        tagged = rt_pages((1u << BLOCK_BITS) / 8);
    }
    for (u64 i = 0; i < old_n; i++) {
        const struct origin_row *r = &old_rows[old[i] & ((1u << ORIGIN_ROW_BITS) - 1)];
        u64 key = old[i] >> ORIGIN_ROW_BITS;
        if (!old[i] || is_empty(r)) continue;
        add(origin_slot(key), key, r);
        note_block((key & ~ORIGIN_OWNERS) << ORIGIN_LINE);
    }
    if (old) leave_tables(old, old_rows, old_cap);
}

/* The slot of a key, with a row, which is made if need be; NULL: there is no room. */
static u64 *slot_for(u64 key) {
    static const struct origin_row none;
    u64 *s = origin_slots ? origin_slot(key) : NULL;
    if (s && *s) return s;
    if (n_rows == cap_rows) {
        /* All of them in use: only what is forgotten one day could make room. */
        if (cap_rows == 1u << ORIGIN_ROW_BITS) return NULL;
        grow();
        s = origin_slot(key);
    }
    add(s, key, &none);
    return s;
}

static struct origin_row *row_for(u64 key) {
    const u64 *slot = slot_for(key);
    return slot ? origin_row_of(*slot) : NULL;
}

/* The rows for tags and, where owner is asked for, owners of a line; false: there is no room. */
static bool rows_for(u64 addr, bool owner, struct origin_row **tags, struct origin_row **owners) {
    if (owner) row_for(origin_key(addr) | ORIGIN_OWNERS);
    *tags = row_for(origin_key(addr)); /* may move the other one */
    *owners = owner ? row_for(origin_key(addr) | ORIGIN_OWNERS) : NULL;
    note_block(addr);
    return *tags && (!owner || *owners);
}

/* Of the granules of [lo, hi), which lie in one line. */
static void fill(struct origin_row *r, u64 lo, u64 hi, u32 value) {
    for (u32 i = origin_place(lo); i <= origin_place(hi - 1); i++) r->of[i] = value;
}

/* Lines that were first tagged together have rows one behind another: a slot is by so much more than that of the line
 * before. */
#define NEXT_SLOT ((1ull << ORIGIN_ROW_BITS) + 1)

/* Whole lines from this one on have a tag, as many as have such rows; returns how many, 0: there is no room. */
static u64 fill_lines(u64 addr, u64 most, u32 tag) {
    const u64 key = origin_key(addr), pair = (u64)tag << 32 | tag;
    u64 *slot = slot_for(key), n = 1;
    if (!slot) return 0;
    struct origin_row *r = origin_row_of(*slot);
    for (u64 next = *slot + NEXT_SLOT; n < most; n++, next += NEXT_SLOT) {
        if (++slot < origin_slots + origin_n_slots && *slot == next) continue;
        slot = origin_slot(key + n);
        if (!*slot && n_rows < cap_rows) add(slot, key + n, r);
        if (*slot != next) break;
    }
    for (u64 at = addr & -(1ull << BLOCK), end = addr + (n << ORIGIN_LINE); at < end; at += 1u << BLOCK) note_block(at);
    void *to = r;
    u64 words = n * sizeof *r / sizeof pair;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(pair) : "memory");
    return n;
}

void origin_set_tags(u64 lo, u64 hi, u32 tag, const u32 *owner) {
    for (u64 at = lo & -(1ull << ORIGIN_GRANULE), end; at < hi; at = end) {
        struct origin_row *r, *owners;
        u64 lines = owner || at & ((1u << ORIGIN_LINE) - 1) ? 0 : (hi - at) >> ORIGIN_LINE;
        if (lines) {
            end = at + (fill_lines(at, lines, tag) << ORIGIN_LINE);
            if (end == at) return;
            continue;
        }
        end = (at | ((1u << ORIGIN_LINE) - 1)) + 1;
        if (end > hi) end = hi;
        if (!rows_for(at, owner, &r, &owners)) return;
        fill(r, at, end, tag);
        if (owners) fill(owners, at, end, *owner);
    }
}

void origin_put_tags(u64 lo, u32 n, const u32 *tags, const u32 *owner) {
    struct origin_row *r, *owners;
    if (!rows_for(lo, owner, &r, &owners)) return;
    for (u32 i = 0, at = origin_place(lo); i < n; i++, at++) {
        r->of[at] = tags[i];
        if (owners) owners->of[at] = *owner;
    }
}

void origin_get_tags(u64 lo, u32 n, u32 *tags) {
    for (u32 done = 0, k; done < n; done += k, lo = ((lo >> ORIGIN_LINE) + 1) << ORIGIN_LINE) {
        u32 at = origin_place(lo);
        u64 slot = n_rows && is_noted(lo) ? *origin_slot(origin_key(lo)) : 0;
        k = ORIGIN_TAGS - at < n - done ? ORIGIN_TAGS - at : n - done;
        for (u32 i = 0; i < k; i++) tags[done + i] = slot ? origin_row_of(slot)->of[at + i] : 0;
    }
}

/* Is something undefined among n bytes, up to a line?  Their V bytes exist. */
static bool any_undefined(u64 addr, u64 n) {
    u64 any = 0, word;
    const u8 *v = (const u8 *)(addr + IP_V_CONST);
    for (; n >= sizeof word; n -= sizeof word, v += sizeof word) {
        memcpy(&word, v, sizeof word);
        any |= word;
    }
    while (n--) any |= *v++;
    return any;
}

static bool has_row(u64 addr) { return n_rows && is_noted(addr) && *origin_slot(origin_key(addr)); }

void origin_copy_tags(u64 to, u64 from, u64 n, u32 untagged, bool alike, u64 *lines) {
    for (u64 k; n && *lines; to += k, from += k, n -= k) {
        u32 tags[ORIGIN_TAGS], at = origin_place(to);
        struct origin_row *r;
        k = (1u << ORIGIN_LINE) - (to & ((1u << ORIGIN_LINE) - 1));
        if (k > n) k = n;
        if (alike && !has_row(to) && !has_row(from) && !has_row(from + k - 1)) continue;
        if (!any_undefined(to, k)) continue;
        --*lines;
        u32 many = origin_place(to + k - 1) - at + 1;
        origin_get_tags(from, many, tags);
        if (!(r = row_for(origin_key(to)))) return;
        note_block(to);
        for (u32 i = 0; i < many; i++) r->of[at + i] = tags[i] ? tags[i] : untagged;
    }
}

static void forget_row(u64 slot, u64 lo, u64 hi) {
    struct origin_row *r = origin_row_of(slot);
    u64 first = (slot >> ORIGIN_ROW_BITS & ~ORIGIN_OWNERS) << ORIGIN_LINE, last = first + (1u << ORIGIN_LINE) - 1;
    if (lo > last || hi <= first) return;
    if (lo <= first && hi > last) {
        memset(r, 0, sizeof *r);
        return;
    }
    for (u32 i = origin_place(lo > first ? lo : first), end = origin_place(hi <= last ? hi - 1 : last); i <= end; i++)
        r->of[i] = 0;
}

void origin_forget_tags(u64 lo, u64 hi) {
    if (!n_rows) return;
    if ((hi - lo) >> ORIGIN_LINE >= origin_n_slots) {
        for (u64 i = 0; i < origin_n_slots; i++)
            if (origin_slots[i]) forget_row(origin_slots[i], lo, hi);
        return;
    }
    for (u64 at = lo, end; at < hi; at = end) {
        end = (at | ((1u << BLOCK) - 1)) + 1;
        if (end > hi) end = hi;
        if (!is_noted(at)) continue;
        for (u64 line = at & -(1ull << ORIGIN_LINE); line < end; line += 1u << ORIGIN_LINE) {
            u64 slot = *origin_slot(origin_key(line));
            if (slot) forget_row(slot, lo, hi);
        }
    }
}

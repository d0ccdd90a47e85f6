/* Counts by key, and what counting tools need of a trace's records (tally.h). */
#include <stdlib.h>
#include <string.h>

#include "formats/drmemtrace/entry.h"
#include "memtrace/tally.h"

#define FIRST_SLOTS 4096
#define ACCESSED    (1ull << IP_MT_READ | 1ull << IP_MT_WRITE)

int ip_tally_open(struct ip_tally *t, uint64_t seed) {
    *t = (struct ip_tally){calloc(FIRST_SLOTS, sizeof *t->slots), FIRST_SLOTS - 1, 0, seed};
    return t->slots ? 0 : -1;
}

void ip_tally_close(struct ip_tally *t) {
    free(t->slots);
    t->slots = NULL;
}

static struct ip_tally_slot *slot_of(const struct ip_tally *t, uint64_t key) {
    uint64_t at = (key ^ t->seed) * t->seed;
    at ^= at >> 32;
    while (t->slots[at & t->mask].count && t->slots[at & t->mask].key != key) at++;
    return &t->slots[at & t->mask];
}

static int grow(struct ip_tally *t) {
    struct ip_tally old = *t;
    t->mask = 2 * old.mask + 1;
    t->slots = calloc(t->mask + 1, sizeof *t->slots);
    if (t->slots == NULL) {
        *t = old;
        return -1;
    }
    for (uint64_t i = 0; i <= old.mask; i++)
        if (old.slots[i].count) *slot_of(t, old.slots[i].key) = old.slots[i];
    free(old.slots);
    return 0;
}

static int add(struct ip_tally *t, uint64_t key, uint64_t count) {
    struct ip_tally_slot *slot = slot_of(t, key);
    if (slot->count == 0 && count) {
        if (2 * t->used > t->mask) {
            if (grow(t) != 0) return -1;
            slot = slot_of(t, key);
        }
        t->used++;
        slot->key = key;
    }
    slot->count += count;
    return 0;
}

int ip_tally_add(struct ip_tally *t, const uint64_t *keys, const uint64_t *counts, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (add(t, keys[i], counts ? counts[i] : 1) != 0) return -1;
    return 0;
}

void ip_tally_items(const struct ip_tally *t, uint64_t *keys, uint64_t *counts) {
    for (uint64_t i = 0; i <= t->mask; i++)
        if (t->slots[i].count) *keys++ = t->slots[i].key, *counts++ = t->slots[i].count;
}

uint64_t ip_mt_count(const struct ip_mt_record *records, uint64_t n, uint64_t *types, uint64_t *markers,
                     struct ip_tally *pcs) {
    uint64_t i = 0;
    for (; i < n && records[i].tid == records[0].tid; i++) {
        const struct ip_mt_record *r = &records[i];
        types[r->type & 63]++;
        if (r->type == IP_MT_MARKER)
            markers[r->size]++;
        else if (IP_MT_FETCHED >> (r->type & 63) & 1 && add(pcs, r->pc, 1) != 0)
            return 0;
    }
    return i;
}

uint64_t ip_mt_lines(const struct ip_mt_record *records, uint64_t n, uint32_t shift, uint32_t touch, uint64_t *lines,
                     uint8_t *fetched, uint64_t room, uint64_t *found) {
    uint64_t wanted = (touch & IP_MTL_FETCHED ? IP_MT_FETCHED : 0) | (touch & IP_MTL_ACCESSED ? ACCESSED : 0);
    uint64_t i = 0, at = 0;
    for (; i < n; i++) {
        const struct ip_mt_record *r = &records[i];
        if (!(wanted >> (r->type & 63) & 1)) continue;
        uint8_t is_fetched = IP_MT_FETCHED >> (r->type & 63) & 1;
        uint64_t first = is_fetched ? r->pc : r->addr, last = first + (r->size ? r->size : 1) - 1;
        if (last < first) last = first; /* around the end of the address space */
        first >>= shift;
        last >>= shift;
        if (last - first >= room - at) break;
        do {
            lines[at] = first;
            fetched[at++] = is_fetched;
        } while (first++ != last);
    }
    *found = at;
    return i;
}

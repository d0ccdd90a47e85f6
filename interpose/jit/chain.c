/* Chaining: a direct exit jumps straight to the block it leads to.  An exit
 * whose target has no translation yet waits for it.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/tstate.h"
#include "jit/lastwords.h"
#include "jit/transtab.h"

/* Keys that exits wait for: the table grows with them. */
#define WAIT_MIN (1u << 12)
#define WAIT_MAX (1u << 20)

void tt_patch_rel32(struct transtab *t, uint32_t at, uint32_t to) {
    uint32_t rel = to - (at + 4);
    __atomic_store_n((uint32_t *)(void *)(t->cache + (at - IP_CACHE_BASE)), rel, __ATOMIC_RELEASE);
}

/* Bits of tstate.umask that may be set while a block runs in which they were not. */
#define CHANGES_WITHIN (1ull << IP_U_REDZONE | 1ull << IP_U_TAKES)

/* Registers that were defined when a block was entered are so when it is left (else it is left for the tracking
 * translation), so the next block need not test them again.
 * A call is none of what the comparison at a function's entry would let pass: it goes to what settles it.
 * A jump forward within what is counted in one place need not find out again where it is.  Every loop has a jump back,
 * and that goes to the comparison: there it stops for whoever writes IP_CT_ASKED. */
static uint32_t way_in(const struct transtab *t, const struct xrec *from, const struct brec *to) {
    if (from->sited && to->called) return to->called;
    if (to->unmasked && !(to->mask & ~(t->brec[from->block].mask & ~CHANGES_WITHIN))) return to->unmasked;
    bool same = from->onward && to->inner && t->brec[from->block].where == to->where;
    return same ? to->inner : to->entry;
}

struct xrec *tt_new_exit(struct transtab *t, uint32_t x, uint32_t block, uint32_t stub) {
    t->xrec_of[x] = 0;
    if (!stub) return t->xrec;
    struct xrec *r = &t->xrec[t->xrec_of[x] = t->n_xrec++];
    *r = (struct xrec){.stub = stub, .block = block};
    return r;
}

void tt_link_exit(struct transtab *t, uint32_t x, uint32_t block) {
    struct xrec *r = tt_xrec(t, x);
    struct brec *to = &t->brec[block];
    if (!r->stub || r->linked || (t->opts.flags & IP_C_NO_CHAIN)) return;
    r->linked = block + 1;
    r->next_in = to->incoming;
    to->incoming = x;
    tt_patch_rel32(t, t->exits[x].patch, way_in(t, r, to));
    t->stats.chained++;
}

/* ---- Waiting exits ------------------------------------------------------------------ */

void tt_init_waiting(struct transtab *t) {
    t->wait_size = WAIT_MIN;
    t->wait = ip_alloc(WAIT_MIN, sizeof *t->wait);
    t->n_wait = 0;
}

void tt_forget_waiting(struct transtab *t) {
    free(t->wait);
    tt_init_waiting(t);
}

/* The table is dense, so keys that lie together must not (as ip_tt_index has them). */
static struct wait_ent *wait_place(struct wait_ent *table, uint32_t size, uint64_t key) {
    uint32_t h = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) & (size - 1);
    while (table[h].used && table[h].key != key) h = (h + 1) & (size - 1);
    return &table[h];
}

static void grow_waiting(struct transtab *t) {
    uint32_t size = 2 * t->wait_size;
    struct wait_ent *table = ip_alloc(size, sizeof *table);
    for (uint32_t i = 0; i < t->wait_size; i++)
        if (t->wait[i].used) *wait_place(table, size, t->wait[i].key) = t->wait[i];
    free(t->wait);
    t->wait = table;
    t->wait_size = size;
}

/* Keys stay for good: most are wanted again when their block is dropped. */
static struct wait_ent *wait_find(struct transtab *t, uint64_t key, bool make) {
    if (make && t->n_wait >= t->wait_size / 2 && t->wait_size < WAIT_MAX) grow_waiting(t);
    struct wait_ent *e = wait_place(t->wait, t->wait_size, key);
    if (e->used) return e;
    if (!make || t->n_wait >= t->wait_size / 2) return NULL;
    t->n_wait++;
    e->used = 1;
    e->key = key;
    return e;
}

static void wait_for(struct transtab *t, uint32_t x) {
    struct wait_ent *e = wait_find(t, tt_canonical(t, t->exits[x].key), true);
    if (!e) return; /* it will be linked when the client takes it */
    tt_xrec(t, x)->next_waiting = e->first;
    e->first = x;
}

static void link_waiting(struct transtab *t, uint64_t key, uint32_t block) {
    struct wait_ent *e = wait_find(t, key, false);
    if (!e) return;
    uint32_t x = e->first;
    e->first = 0;
    while (x) {
        uint32_t next = tt_xrec(t, x)->next_waiting;
        tt_xrec(t, x)->next_waiting = 0;
        /* Its own block may have been dropped, and a binding may have come or gone meanwhile. */
        if (t->blocks[tt_xrec(t, x)->block].state && tt_canonical(t, t->exits[x].key) == key) tt_link_exit(t, x, block);
        x = next;
    }
}

void tt_link_block(struct transtab *t, uint64_t key, uint32_t block) {
    const struct brec *r = &t->brec[block];
    link_waiting(t, key, block);
    for (uint32_t x = r->first_exit; x < r->first_exit + r->n_exits; x++) {
        if ((t->exits[x].kind_aux & 0xff) != IP_X_DIRECT) continue;
        struct ip_ttent *e = tt_find(t, tt_canonical(t, t->exits[x].key));
        if (e)
            tt_link_exit(t, x, e->block);
        else
            wait_for(t, x);
    }
}

/* ---- Dropped blocks ----------------------------------------------------------------- */

static void unlink_incoming(struct transtab *t, uint32_t block) {
    uint32_t x = t->brec[block].incoming;
    t->brec[block].incoming = 0;
    while (x) {
        struct xrec *r = tt_xrec(t, x);
        uint32_t next = r->next_in;
        if (r->linked == block + 1) {
            tt_patch_rel32(t, t->exits[x].patch, r->stub);
            r->linked = 0;
        }
        r->next_in = 0;
        x = next;
    }
}

/* The exits of a dropped block leave the lists of the blocks they lead to. */
static void unlink_outgoing(struct transtab *t, uint32_t block) {
    const struct brec *b = &t->brec[block];
    for (uint32_t x = b->first_exit; x < b->first_exit + b->n_exits; x++) {
        struct xrec *r = tt_xrec(t, x);
        if (!r->linked) continue;
        uint32_t *p = &t->brec[r->linked - 1].incoming;
        while (*p && *p != x) p = &tt_xrec(t, *p)->next_in;
        if (*p == x) *p = r->next_in;
        tt_patch_rel32(t, t->exits[x].patch, r->stub);
        r->linked = 0;
    }
}

void tt_unlink_block(struct transtab *t, uint32_t block) {
    unlink_incoming(t, block);
    unlink_outgoing(t, block);
}

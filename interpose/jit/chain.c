/* Chaining: a direct exit jumps straight to the block it leads to.  An exit
 * whose target has no translation yet waits for it.
 */
#include <string.h>
#include <sys/mman.h>

#include "abi/inline/tt_hash.h"
#include "jit/lastwords.h"
#include "jit/transtab.h"

#define WAIT_BITS 20u
#define WAIT_SIZE (1u << WAIT_BITS)

void tt_patch_rel32(struct transtab *t, uint32_t at, uint32_t to) {
    uint32_t rel = to - (at + 4);
    __atomic_store_n((uint32_t *)(void *)(t->cache + (at - IP_CACHE_BASE)), rel, __ATOMIC_RELEASE);
}

/* A call is none of what the comparison at a function's entry would let pass: it goes to what settles it.
 * A jump forward within what is counted in one place need not find out again where it is.  Every loop has a jump back,
 * and that goes to the comparison: there it stops for whoever writes IP_CT_ASKED. */
static uint32_t way_in(const struct transtab *t, const struct xrec *from, const struct brec *to) {
    if (from->sited && to->called) return to->called;
    bool same = from->onward && to->inner && t->brec[from->block].where == to->where;
    return same ? to->inner : to->entry;
}

void tt_link_exit(struct transtab *t, uint32_t x, uint32_t block) {
    struct xrec *r = &t->xrec[x];
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
    t->wait = ip_reserve(sizeof *t->wait * WAIT_SIZE);
    t->n_wait = 0;
}

void tt_forget_waiting(struct transtab *t) {
    if (t->n_wait) madvise(t->wait, sizeof *t->wait * WAIT_SIZE, MADV_DONTNEED);
    t->n_wait = 0;
}

/* Keys stay for good: most are wanted again when their block is dropped. */
static struct wait_ent *wait_find(struct transtab *t, uint64_t key, bool make) {
    for (uint32_t h = ip_tt_index(key);; h = (h + 1) & (WAIT_SIZE - 1)) {
        struct wait_ent *e = &t->wait[h];
        if (e->used && e->key == key) return e;
        if (e->used) continue;
        if (!make || t->n_wait > WAIT_SIZE / 2) return NULL;
        t->n_wait++;
        e->used = 1;
        e->key = key;
        return e;
    }
}

static void wait_for(struct transtab *t, uint32_t x) {
    struct wait_ent *e = wait_find(t, tt_canonical(t, t->exits[x].key), true);
    if (!e) return; /* it will be linked when the client takes it */
    t->xrec[x].next_waiting = e->first;
    e->first = x;
}

static void link_waiting(struct transtab *t, uint64_t key, uint32_t block) {
    struct wait_ent *e = wait_find(t, key, false);
    if (!e) return;
    uint32_t x = e->first;
    e->first = 0;
    while (x) {
        uint32_t next = t->xrec[x].next_waiting;
        t->xrec[x].next_waiting = 0;
        /* Its own block may have been dropped, and a binding may have come or gone meanwhile. */
        if (t->blocks[t->xrec[x].block].state && tt_canonical(t, t->exits[x].key) == key) tt_link_exit(t, x, block);
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
        struct xrec *r = &t->xrec[x];
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
        struct xrec *r = &t->xrec[x];
        if (!r->linked) continue;
        uint32_t *p = &t->brec[r->linked - 1].incoming;
        while (*p && *p != x) p = &t->xrec[*p].next_in;
        if (*p == x) *p = r->next_in;
        tt_patch_rel32(t, t->exits[x].patch, r->stub);
        r->linked = 0;
    }
}

void tt_unlink_block(struct transtab *t, uint32_t block) {
    unlink_incoming(t, block);
    unlink_outgoing(t, block);
}

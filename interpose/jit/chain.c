/* Chaining: a direct exit jumps straight to the block it leads to.  An exit
 * whose target has no translation yet waits for it.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/inline/tt_hash.h"
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
static uint32_t way_in(const struct transtab *t, uint32_t x, const struct brec *to) {
    if (IS_CHECK(x)) return to->entry;
    const struct xrec *from = tt_xrec(t, x);
    const struct ip_exit *e = &t->exits[x];
    int calls = (int)(e->kind_aux >> 8);
    if (calls == EXIT_SITED && to->called) return to->called;
    if (to->unmasked && !(to->mask & ~(t->brec[from->block].mask & ~CHANGES_WITHIN))) return to->unmasked;
    bool onward = !calls && (e->key & IP_KEY_PC) > (t->blocks[from->block].key & IP_KEY_PC);
    bool same = onward && to->inner && t->brec[from->block].where == to->where;
    return same ? to->inner : to->entry;
}

static bool is_direct(const struct transtab *t, uint32_t x) { return (t->exits[x].kind_aux & 0xff) == IP_X_DIRECT; }

/* Blocks have their exits in the order in which they were made. */
static uint32_t block_of_exit(const struct transtab *t, uint32_t x) {
    uint32_t lo = 0, hi = t->meta->n_blocks;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->brec[mid].first_exit <= x)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* A direct exit without a record leads to its stub. */
static uint32_t leads_to(const struct transtab *t, uint32_t x) {
    uint32_t patch = t->exits[x].patch, distance;
    memcpy(&distance, tt_code(t, patch), sizeof distance);
    return patch + 4 + distance;
}

/* The exit's own record, from the first time on that there is something to note.  block: it is this one's. */
static struct xrec *own_record(struct transtab *t, uint32_t x, uint32_t block) {
    if (!t->xrec_of[x]) {
        struct xrec r = {.stub = leads_to(t, x), .block = block};
        t->xrec[t->xrec_of[x] = t->n_xrec++] = r;
    }
    return tt_xrec(t, x);
}

static uint32_t patched_at(const struct transtab *t, uint32_t x) {
    return IS_CHECK(x) ? tt_xrec(t, x)->stub : t->exits[x].patch;
}

/* Where it leads while it is not linked. */
static uint32_t way_out(const struct transtab *t, uint32_t x) {
    return IS_CHECK(x) ? (uint32_t)t->opts.sym[IP_SYM_EXIT] : tt_xrec(t, x)->stub;
}

/* An exit that has a record leads to block from now on. */
static void lead_to(struct transtab *t, uint32_t x, uint32_t block) {
    struct brec *to = &t->brec[block];
    struct xrec *r = tt_xrec(t, x);
    r->linked = block + 1;
    r->next_in = to->incoming;
    to->incoming = x;
    tt_patch_rel32(t, patched_at(t, x), way_in(t, x, to));
    t->stats.chained++;
}

/* Exit x of block from leads to block from now on. */
static void link_exit(struct transtab *t, uint32_t x, uint32_t from, uint32_t block) {
    if (tt_xrec(t, x)->linked || (t->opts.flags & IP_C_NO_CHAIN)) return;
    own_record(t, x, from);
    lead_to(t, x, block);
}

void tt_link_exit(struct transtab *t, uint32_t x, uint32_t block) {
    if (!is_direct(t, x)) return;
    link_exit(t, x, t->xrec_of[x] ? tt_xrec(t, x)->block : block_of_exit(t, x), block);
}

/* ---- Exits of checks ---------------------------------------------------------------- */

/* Checks of a clean translation that fail go on in the tracking one.  There are five in a block and few of them ever
 * do: those are linked when they have. */

static uint32_t *chain_of(struct transtab *t, uint32_t block) { return &t->checks[block % CHECK_CHAINS]; }

/* From this one on, the first that is the block's. */
static uint32_t of_block(const struct transtab *t, uint32_t x, uint32_t block) {
    while (x && tt_xrec(t, x)->block != block) x = tt_xrec(t, x)->next_waiting;
    return x;
}

uint32_t tt_first_check(const struct transtab *t, uint32_t block) {
    return of_block(t, t->checks[block % CHECK_CHAINS], block);
}

uint32_t tt_next_check(const struct transtab *t, uint32_t x) {
    const struct xrec *r = tt_xrec(t, x);
    return of_block(t, r->next_waiting, r->block);
}

void tt_forget_checks(struct transtab *t) {
    memset(t->checks, 0, sizeof t->checks);
    t->free_checks = 0;
}

static uint32_t free_record(struct transtab *t) {
    uint32_t x = t->free_checks;
    if (x)
        t->free_checks = tt_xrec(t, x)->next_waiting;
    else if (t->n_xrec < IP_META_EXITMAX) /* the other half of them is for exits with a number */
        x = IP_META_EXITMAX + t->n_xrec++;
    return x;
}

/* The block whose stubs, or else whose code, are at the address. */
static uint32_t block_at(const struct transtab *t, uint32_t at) {
    uint32_t lo = 0, hi = t->meta->n_blocks;
    bool cold = t->meta->cold_used && at >= IP_COLD_BASE;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if ((cold ? t->blocks[mid].cold : t->blocks[mid].host) <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

void tt_link_check(struct transtab *t, uint32_t place, uint32_t block) {
    if (t->opts.flags & IP_C_NO_CHAIN) return;
    uint32_t from = block_at(t, place), *chain = chain_of(t, from);
    if (!t->blocks[from].state) return;
    for (uint32_t x = *chain; x; x = tt_xrec(t, x)->next_waiting)
        if (tt_xrec(t, x)->stub == place) return;
    uint32_t x = free_record(t);
    if (!x) return;
    *tt_xrec(t, x) = (struct xrec){.stub = place, .block = from, .next_waiting = *chain};
    *chain = x;
    lead_to(t, x, block);
}

/* Leads nowhere any more; it is linked anew when it is gone. */
static void forget_check(struct transtab *t, uint32_t x) {
    struct xrec *r = tt_xrec(t, x);
    uint32_t *p = chain_of(t, r->block);
    while (*p != x) p = &tt_xrec(t, *p)->next_waiting;
    *p = r->next_waiting;
    r->next_waiting = t->free_checks;
    t->free_checks = x;
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
static uint32_t wait_home(uint32_t size, uint64_t key) {
    return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) & (size - 1);
}

static struct wait_ent *wait_place(struct wait_ent *table, uint32_t size, uint64_t key) {
    uint32_t h = wait_home(size, key);
    while (table[h].used && table[h].key != key) h = (h + 1) & (size - 1);
    return &table[h];
}

void tt_expect(const struct transtab *t, uint64_t key) {
    __builtin_prefetch(&t->tt[ip_tt_index(key)]);
    __builtin_prefetch(&t->wait[wait_home(t->wait_size, key)]);
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

/* key: of the exit, in its canonical form. */
static void wait_for(struct transtab *t, uint32_t x, uint32_t block, uint64_t key) {
    struct wait_ent *e = wait_find(t, key, true);
    if (!e) return; /* it will be linked when the client takes it */
    own_record(t, x, block)->next_waiting = e->first;
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
        uint32_t from = tt_xrec(t, x)->block;
        if (t->blocks[from].state && tt_canonical(t, t->exits[x].key) == key) link_exit(t, x, from, block);
        x = next;
    }
}

/* A check whose way on has a number (jit/emit.c, leave_check): it waits for none, either. */
static bool leaves_clean(uint64_t from, uint64_t to) { return (to & IP_KEY_TRACK) && !(from & IP_KEY_TRACK); }

void tt_link_block(struct transtab *t, uint64_t key, uint32_t block) {
    const struct brec *r = &t->brec[block];
    link_waiting(t, key, block);
    for (uint32_t x = r->first_exit; x < r->first_exit + r->n_exits; x++) {
        if (!is_direct(t, x)) continue;
        uint64_t to = tt_canonical(t, t->exits[x].key);
        struct ip_ttent *e = tt_find(t, to);
        if (e)
            link_exit(t, x, block, e->block);
        else if (!leaves_clean(t->blocks[block].key, t->exits[x].key))
            wait_for(t, x, block, to);
    }
}

/* ---- Dropped blocks ----------------------------------------------------------------- */

/* They wait for the next block of that key: hundreds of calls lead to one entry of a procedure linkage table, which is
 * made anew when its slot has been filled, and each would have to be asked for.  (An exit that waits elsewhere already,
 * for a binding came or went, takes those behind it out of that list: they will be linked when the client takes them.)
 */
static void unlink_incoming(struct transtab *t, uint32_t block) {
    uint32_t x = t->brec[block].incoming;
    t->brec[block].incoming = 0;
    while (x) {
        struct xrec *r = tt_xrec(t, x);
        uint32_t next = r->next_in;
        r->next_in = 0;
        if (r->linked == block + 1) {
            tt_patch_rel32(t, patched_at(t, x), way_out(t, x));
            r->linked = 0;
            if (IS_CHECK(x))
                forget_check(t, x);
            else if (t->blocks[r->block].state)
                wait_for(t, x, r->block, tt_canonical(t, t->exits[x].key));
        }
        x = next;
    }
}

static void unlink(struct transtab *t, uint32_t x) {
    struct xrec *r = tt_xrec(t, x);
    if (!r->linked) return;
    uint32_t *p = &t->brec[r->linked - 1].incoming;
    while (*p && *p != x) p = &tt_xrec(t, *p)->next_in;
    if (*p == x) *p = r->next_in;
    tt_patch_rel32(t, patched_at(t, x), way_out(t, x));
    r->linked = 0;
}

/* The exits of a dropped block leave the lists of the blocks they lead to. */
static void unlink_outgoing(struct transtab *t, uint32_t block) {
    const struct brec *b = &t->brec[block];
    for (uint32_t x = b->first_exit; x < b->first_exit + b->n_exits; x++) unlink(t, x);
    for (uint32_t x; (x = tt_first_check(t, block)); forget_check(t, x)) unlink(t, x);
}

void tt_unlink_block(struct transtab *t, uint32_t block) {
    unlink_incoming(t, block);
    unlink_outgoing(t, block);
}

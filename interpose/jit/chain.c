/* Chaining: a direct exit jumps straight to the block it leads to.  An exit
 * whose target has no translation yet waits for it.
 */
#include <string.h>

#include "abi/inline/tt_hash.h"
#include "abi/tstate.h"
#include "jit/transtab.h"

#define WAIT_MIN (1u << 12) /* hashes of keys that exits wait for: they become more with these */

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
static uint32_t way_in(const struct transtab *t, uint32_t x, uint32_t block) {
    if (IS_CHECK(x)) return tt_entry(t, block);
    const struct xrec *from = tt_xrec(t, x);
    const struct brec *to = &t->brec[block];
    const struct ip_exit *e = &t->exits[x];
    uint32_t begin = t->blocks[block].host;
    int calls = (int)(e->kind_aux >> 8);
    if (calls == EXIT_SITED && to->called) return begin + to->called;
    if (to->unmasked && !(to->mask & ~(t->brec[from->block].mask & ~CHANGES_WITHIN))) return begin + to->unmasked;
    bool onward = !calls && (e->key & IP_KEY_PC) > (t->blocks[from->block].key & IP_KEY_PC);
    bool same = onward && to->inner && t->brec[from->block].where == to->where;
    return same ? begin + to->inner : tt_entry(t, block);
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
        struct xrec r = {.stub = tt_offset(t, block, leads_to(t, x)) & UINT16_MAX, .block = block & ((1u << 23) - 1)};
        t->xrec[t->xrec_of[x] = t->n_xrec++] = r;
    }
    return tt_xrec(t, x);
}

static uint32_t stub_of(const struct transtab *t, uint32_t x) {
    const struct xrec *r = tt_xrec(t, x);
    return tt_place(t, (uint32_t)r->block, (uint32_t)r->stub);
}

static uint32_t patched_at(const struct transtab *t, uint32_t x) {
    return IS_CHECK(x) ? stub_of(t, x) : t->exits[x].patch;
}

/* Where it leads while it is not linked. */
static uint32_t way_out(const struct transtab *t, uint32_t x) {
    return IS_CHECK(x) ? (uint32_t)t->opts.sym[IP_SYM_EXIT] : stub_of(t, x);
}

/* An exit that has a record leads to block from now on. */
static void lead_to(struct transtab *t, uint32_t x, uint32_t block) {
    struct brec *to = &t->brec[block];
    struct xrec *r = tt_xrec(t, x);
    r->linked = (block + 1) & ((1u << 24) - 1);
    r->next_in = to->incoming;
    to->incoming = x;
    tt_patch_rel32(t, patched_at(t, x), way_in(t, x, block));
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
    link_exit(t, x, t->xrec_of[x] ? (uint32_t)tt_xrec(t, x)->block : block_of_exit(t, x), block);
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
    return of_block(t, r->next_waiting, (uint32_t)r->block);
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
    if (!t->blocks[from].live) return;
    for (uint32_t x = *chain; x; x = tt_xrec(t, x)->next_waiting)
        if (stub_of(t, x) == place) return;
    uint32_t x = free_record(t);
    if (!x) return;
    *tt_xrec(t, x) = (struct xrec){
        .stub = tt_offset(t, from, place) & UINT16_MAX, .block = from & ((1u << 23) - 1), .next_waiting = *chain};
    *chain = x;
    lead_to(t, x, block);
}

/* Leads nowhere any more; it is linked anew when it is gone. */
static void forget_check(struct transtab *t, uint32_t x) {
    struct xrec *r = tt_xrec(t, x);
    uint32_t *p = chain_of(t, (uint32_t)r->block);
    while (*p != x) p = &tt_xrec(t, *p)->next_waiting;
    *p = r->next_waiting;
    r->next_waiting = t->free_checks;
    t->free_checks = x;
}

/* ---- Waiting exits ------------------------------------------------------------------ */

void tt_init_waiting(struct transtab *t) {
    t->wait_size = WAIT_MIN;
    t->wait = tt_alloc(t, WAIT_MIN, sizeof *t->wait);
    t->n_wait = 0;
}

void tt_forget_waiting(struct transtab *t) {
    tt_free(t, t->wait, t->wait_size * sizeof *t->wait);
    tt_init_waiting(t);
}

/* Neighbours must not have one hash (as ip_tt_index has them). */
static uint32_t wait_home(uint32_t size, uint64_t key) {
    return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) & (size - 1);
}

void tt_expect(const struct transtab *t, uint64_t key) {
    __builtin_prefetch(&t->tt[ip_tt_index(key)]);
    __builtin_prefetch(&t->wait[wait_home(t->wait_size, key)]);
}

/* The key that an exit waits for now: a binding may have come or gone. */
static uint64_t wanted(const struct transtab *t, uint32_t x) { return tt_canonical(t, t->exits[x].key); }

static void push_waiting(const struct transtab *t, uint32_t x, uint64_t key) {
    uint32_t *first = &t->wait[wait_home(t->wait_size, key)];
    tt_xrec(t, x)->next_waiting = *first;
    *first = x;
}

static void grow_waiting(struct transtab *t) {
    uint32_t *old = t->wait, size = t->wait_size;
    t->wait_size *= 2;
    t->wait = tt_alloc(t, t->wait_size, sizeof *t->wait);
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t x = old[i], next; x; x = next) {
            next = tt_xrec(t, x)->next_waiting;
            push_waiting(t, x, wanted(t, x));
        }
    tt_free(t, old, size * sizeof *old);
}

/* key: of the exit, in its canonical form.  One that waits already, for a binding came or went, is left there, and
 * linked when the client takes it. */
static void wait_for(struct transtab *t, uint32_t x, uint32_t block, uint64_t key) {
    struct xrec *r = own_record(t, x, block);
    if (r->waits) return;
    r->waits = 1;
    if (++t->n_wait > t->wait_size) grow_waiting(t);
    push_waiting(t, x, key);
}

static void link_waiting(struct transtab *t, uint64_t key, uint32_t block) {
    uint32_t *at = &t->wait[wait_home(t->wait_size, key)];
    for (uint32_t x; (x = *at);) {
        struct xrec *r = tt_xrec(t, x);
        uint32_t from = (uint32_t)r->block;
        bool lives = t->blocks[from].live;
        if (lives && wanted(t, x) != key) {
            at = &r->next_waiting;
            continue;
        }
        *at = r->next_waiting;
        r->next_waiting = 0;
        r->waits = 0;
        t->n_wait--;
        if (lives) link_exit(t, x, from, block);
    }
}

/* A check whose way on has a number (jit/emit.c, leave_check): it waits for none, either. */
static bool leaves_clean(uint64_t from, uint64_t to) { return (to & IP_KEY_TRACK) && !(from & IP_KEY_TRACK); }

void tt_link_block(struct transtab *t, uint64_t key, uint32_t block) {
    link_waiting(t, key, block);
    for (uint32_t x = t->brec[block].first_exit; x < tt_end_exits(t, block); x++) {
        if (!is_direct(t, x)) continue;
        uint64_t to = wanted(t, x);
        uint32_t found = tt_find(t, to);
        if (found)
            link_exit(t, x, block, found - 1);
        else if (!leaves_clean(t->blocks[block].key, t->exits[x].key))
            wait_for(t, x, block, to);
    }
}

/* ---- Dropped blocks ----------------------------------------------------------------- */

/* They wait for the next block of that key: hundreds of calls lead to one entry of a procedure linkage table, which is
 * made anew when its slot has been filled, and each would have to be asked for. */
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
            else if (t->blocks[r->block].live)
                wait_for(t, x, (uint32_t)r->block, wanted(t, x));
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
    for (uint32_t x = t->brec[block].first_exit; x < tt_end_exits(t, block); x++) unlink(t, x);
    for (uint32_t x; (x = tt_first_check(t, block)); forget_check(t, x)) unlink(t, x);
}

void tt_unlink_block(struct transtab *t, uint32_t block) {
    unlink_incoming(t, block);
    unlink_outgoing(t, block);
}

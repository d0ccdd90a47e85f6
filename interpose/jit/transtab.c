/* Translation table, code cache, chaining, invalidation. */
#include "jit/keep.h"
#include "jit/transtab.h"
#include "jit/writer.h"

#include "abi/inline/pcs.h"
#include "abi/inline/points.h"
#include "abi/inline/ticks.h"
#include "abi/inline/tt_hash.h"

#include <string.h>

static struct ip_ttent *find(const struct transtab *t, uint64_t key) {
    for (uint32_t n = 0;; n++) {
        struct ip_ttent *e = &t->tt[ip_tt_place(key, n)];
        if (!e->entry) return NULL;
        if (ip_tt_is(t->blocks, e->entry, key)) return e;
    }
}

uint32_t tt_find(const struct transtab *t, uint64_t key) {
    const struct ip_ttent *e = find(t, key);
    return e ? e->entry & IP_TT_BLOCK : 0;
}

static void tt_insert(struct transtab *t, uint64_t key, uint32_t block) {
    uint32_t entry = ip_tt_tag(key) | (block + 1) | (t->blocks[block].key != key ? IP_TT_NOREDIR : 0);
    for (uint32_t n = 0;; n++) {
        struct ip_ttent *e = &t->tt[ip_tt_place(key, n)];
        if (!e->entry || (e->entry & IP_TT_BLOCK) == IP_TT_GONE || ip_tt_is(t->blocks, e->entry, key)) {
            e->host = tt_entry(t, block);
            /* The client reads without a lock: what it looks for last. */
            __atomic_store_n(&e->entry, entry, __ATOMIC_RELEASE);
            return;
        }
    }
}

void tt_publish(struct transtab *t, uint64_t key, uint32_t block) { tt_insert(t, key, block); }

static void tt_remove(struct transtab *t, uint64_t key, uint32_t block) {
    struct ip_ttent *e = find(t, key);
    if (e && ip_tt_block(e->entry) == block) __atomic_store_n(&e->entry, IP_TT_GONE, __ATOMIC_RELEASE);
}

/* ---- Bindings -------------------------------------------------------------------- */

const struct binding *tt_binding(const struct transtab *t, uint64_t addr) {
    uint32_t page = bound_page(addr);
    if (!(t->bound_pages[page / 64] >> page % 64 & 1)) return NULL;
    uint32_t m = t->bind_cap - 1;
    for (uint32_t h = bind_home(addr, m);; h = (h + 1) & m) {
        if (!t->bind[h].used) return NULL;
        if (t->bind[h].used == 1 && t->bind[h].addr == addr) return &t->bind[h];
    }
}

/* ---- Pages ------------------------------------------------------------------------- */

/* Pages whose contents may change unnoticed: nobody may find the block yet. */
static bool all_watched(struct transtab *t, const struct ublock *b) {
    for (int i = 0; i < b->n_pages; i++)
        if (!tt_is_watched(t, b->pages[i]) && !tt_is_checked(t, b->pages[i]) && !tt_is_stable(t, b->pages[i]))
            t->new_pages[t->n_new_pages++] = b->pages[i];
    return t->n_new_pages == 0;
}

/* ---- Dropping ------------------------------------------------------------------------------- */

/* A thread that was stopped between a look-up and its store may put the block into the fast
 * table after that was cleared: the check at the entry lets nobody in any more.  One byte,
 * which no thread sees half of. */
static void close_entry(struct transtab *t, const struct ip_block *b) {
    uint8_t *jrcxz = t->cache + (b->host - IP_CACHE_BASE) + EM_CHECK_JRCXZ;
    if (b->key <= INT32_MAX && jrcxz[0] == JRCXZ_OPCODE) __atomic_store_n(&jrcxz[1], 0, __ATOMIC_SEQ_CST);
}

void tt_drop_block(struct transtab *t, uint32_t block) {
    struct ip_block *b = &t->blocks[block];
    if (!b->live) return;
    b->live = 0;
    t->n_live--;
    tt_remove(t, b->key, block);
    tt_remove(t, b->key | IP_KEY_NOREDIR, block);
    close_entry(t, b);
    tt_unlink_block(t, block);
    t->stats.invalidated++;
}

static bool has_insn(const struct transtab *t, const struct ip_block *b, uint64_t pc) {
    const uint8_t *at = t->pcs + b->pcs + IP_PCS_HEAD;
    uint64_t is = ip_pcs_first(t->pcs + b->pcs);
    for (uint32_t n = b->n_insns; n--; is += ip_pcs_step(&at))
        if (is == pc) return true;
    return false;
}

void tt_drop_containing(struct transtab *t, uint64_t pc) {
    const struct page_ent *p = tt_page(t, pc & ~4095ull);
    uint32_t found;
    static const uint64_t modes[] = {0, IP_KEY_TRACK, IP_KEY_NOREDIR, IP_KEY_TRACK | IP_KEY_NOREDIR};
    for (int i = 0; i < 4; i++)
        if ((found = tt_find(t, pc | modes[i]))) tt_drop_block(t, found - 1);
    if (!p) return;
    for (uint32_t k = 0; k < p->n; k++) {
        const struct ip_block *b = &t->blocks[p->blocks[k]];
        if (!b->live) continue;
        if (has_insn(t, b, pc)) tt_drop_block(t, p->blocks[k]);
    }
}

/* ---- Making a block ---------------------------------------------------------------------- */

/* Shorter and shorter, until the block and all that is added to it keep within their limits. */
static void run_stages(struct transtab *t, struct ublock *b, const struct ip_code_reader *rd, int max_insns) {
    const struct ip_jit_opts *o = &t->opts;
    b->keeps_stack = tt_in_ranges(&t->keeps_stack, b->pc);
    for (int max = max_insns; max >= 1; max = max > 4 ? max / 2 : max - 1) {
        b->overflow = false;
        b->trace = 0;
        ip_stage1_disassemble(b, rd, o, max);
        tt_stage_done(t, 1, b);
        ip_stage2_optimise(b, rd, o);
        tt_stage_done(t, 2, b);
        ip_stage3_instrument(b, t->ub[1], o);
        if (t->watching && !t->past_break) tt_watch_accesses(t->ub[1]);
        tt_stage_done(t, 3, t->ub[1]);
        ip_stage4_cleanup(t->ub[1], o);
        tt_stage_done(t, 4, t->ub[1]);
        ip_stage5_allocate(t->ub[1], t->ub[2], o);
        tt_stage_done(t, 5, t->ub[2]);
        if (b->overflow || t->ub[1]->overflow || t->ub[2]->overflow) continue;
        struct code_place at = tt_next_place(t);
        ip_stage6_emit(t->ub[2], t->em, at.host, at.cold, o);
        if (!t->em->overflow) {
            tt_stage_done(t, 6, t->ub[2]);
            return;
        }
    }
}

/* ---- Where code goes ---------------------------------------------------------------------- */

_Static_assert(EM_MAX_CODE <= UINT16_MAX && UB_MAX_INSN < 128, "ip_block says so how long a block is");
_Static_assert(2 * LOAD64_FS_BYTES + STORE_IMM32_FS_BYTES + JMP_BYTES + IP_ENTRY_CHECK <= UINT8_MAX,
               "ip_block.entry: behind em_stale_exit and em_check_entry");
_Static_assert(IP_COLD_BASE == IP_TRACE_BASE, "what is in the upper half of the cache, other code is in the lower one");

/* Code that is full of checks is half stubs that hardly ever run.  Records and counters are written in stubs: there
 * they stay with the rest. */
static bool stubs_apart(const struct transtab *t) {
    return (t->opts.flags & (IP_C_SHADOW | IP_C_TRACE)) == IP_C_SHADOW;
}

struct code_place tt_next_place(const struct transtab *t) {
    struct code_place p = {.host = IP_CACHE_BASE + ((t->meta->cache_used + 15u) & ~15u)};
    if (stubs_apart(t)) p.cold = IP_COLD_BASE + ((t->meta->cold_used + 7u) & ~7u); /* as align_patch needs it */
    return p;
}

void tt_put_code(struct transtab *t, const struct code_place *p, const uint8_t *code, uint32_t len) {
    memcpy(tt_code(t, p->host), code, p->hot);
    t->meta->cache_used = p->host + p->hot - IP_CACHE_BASE;
    if (!p->cold) return;
    memcpy(tt_code(t, p->cold), code + p->hot, len - p->hot);
    t->meta->cold_used = p->cold + (len - p->hot) - IP_COLD_BASE;
}

/* Bytes that code may take, and stubs that lie apart as many again. */
static uint64_t cache_limit(const struct transtab *t) {
    bool half = t->opts.flags & (IP_C_TRACE | IP_C_SHADOW);
    return half && t->cache_bytes > IP_CACHE_MAX / 2 ? IP_CACHE_MAX / 2 : t->cache_bytes;
}

bool tt_room(const struct transtab *t) {
    const struct ip_meta *m = t->meta;
    if (m->n_blocks > MANY_BLOCKS && t->n_live < m->n_blocks / 4) return false;
    uint64_t limit = cache_limit(t);
    return m->cache_used + EM_MAX_CODE + 4096u < limit && m->cold_used + EM_MAX_CODE + 4096u < limit &&
           t->pages_n < PAGES_MOST / 4 * 3 && tt_heap_has_room(t) && m->n_blocks + 2 < IP_META_BLKMAX &&
           t->n_block_pages + BLOCK_PAGES <= BLOCK_PAGES_MOST && m->n_exits + EM_MAX_EXITS < IP_META_EXITMAX &&
           m->points_used + EM_MAX_POINTS * IP_POINT_MOST < IP_META_PTMAX &&
           m->pcs_used + IP_PCS_HEAD + (UB_MAX_INSN + 1) * IP_PCS_MOST < IP_META_PCMAX &&
           m->desc_used + (UB_MAX_INSN + 1) * sizeof(struct ip_insn) < IP_META_DESCMAX;
}

void tt_put_points(struct transtab *t, struct ip_block *b, const struct ip_point *points, uint32_t n) {
    const struct ip_point none = {0}, *before = &none;
    uint8_t *at = t->points + t->meta->points_used;
    b->points = t->meta->points_used;
    b->n_points = (uint16_t)n;
    for (uint32_t i = 0; i < n; before = &points[i++]) at = ip_point_put(at, before, &points[i]);
    t->meta->points_used = (uint32_t)(at - t->points);
}

void tt_put_pcs(struct transtab *t, struct ip_block *b, const uint64_t *pcs, uint32_t n_insns) {
    uint8_t *at = ip_pcs_put_first(t->pcs + t->meta->pcs_used, pcs[0]);
    b->pcs = t->meta->pcs_used;
    b->n_insns = n_insns & 127;
    for (uint32_t i = 0; i < n_insns; i++) at = ip_pcs_put(at, pcs[i], pcs[i + 1]);
    t->meta->pcs_used = (uint32_t)(at - t->pcs);
}

void tt_take_tables(struct transtab *t, struct ip_block *b, const uint8_t *points, uint32_t n_points,
                    const uint8_t *pcs, uint32_t n_pcs) {
    b->points = t->meta->points_used;
    b->pcs = t->meta->pcs_used;
    memcpy(t->points + b->points, points, n_points);
    memcpy(t->pcs + b->pcs, pcs, n_pcs);
    t->meta->points_used += n_points;
    t->meta->pcs_used += n_pcs;
}

/* ---- Making a block known ---------------------------------------------------------------- */

static uint32_t install(struct transtab *t, const struct ublock *b) {
    struct ip_meta *m = t->meta;
    const struct emitted *e = t->em;
    uint32_t block = m->n_blocks, first_exit = m->n_exits;
    uint64_t desc[UB_MAX_INSN + 1];
    memset(desc, 0, sizeof desc);

    tt_put_code(t, &e->place, e->code, e->len);
    for (int i = 0; i < e->n_exits; i++) {
        const struct emit_exit *x = &e->exits[i];
        uint32_t id = first_exit + (uint32_t)i;
        struct ip_exit *out = &t->exits[id];
        int kind = x->kind_aux & 0xff;
        out->key = x->key;
        out->kind_aux = x->kind_aux;
        out->patch = x->patch_off ? place_at(&e->place, x->patch_off) : 0;
        tt_new_exit(t, id);
        if (kind == IP_X_DIRECT) {
            out->kind_aux |= (uint32_t)x->calls << 8; /* way_in */
            tt_expect(t, x->key);
            tt_patch_rel32(t, out->patch, place_at(&e->place, x->stub_off));
        } else if (kind == IP_XS_TRACK) {
            out->key = b->insn[x->key].pc;
            out->kind_aux |= tt_shape(t, &b->insn[x->key]) << 8;
        } else if (kind == IP_XS_ADDRESSES || kind == IP_XS_WATCH || kind == IP_X_FAR) {
            if (!desc[x->key]) desc[x->key] = ip_described(tt_describe(t, &b->insn[x->key]));
            out->key = desc[x->key];
        }
        if (x->id_off) memcpy(tt_code(t, place_at(&e->place, x->id_off)), &id, 4);
    }
    struct ip_block *blk = &t->blocks[block];
    blk->key = b->key;
    blk->host = e->place.host;
    blk->host_len = (uint16_t)e->place.hot;
    blk->entry = (uint8_t)e->entry;
    if (t->ub[2]->trace)
        blk->trace = t->ub[2]->trace;
    else
        blk->cold = e->place.cold;
    blk->cold_len = (uint16_t)(e->len - e->place.hot);
    tt_put_points(t, blk, e->points, (uint32_t)e->n_points);
    uint64_t pcs[UB_MAX_INSN + 1];
    for (int i = 0; i < b->n_insn; i++) pcs[i] = b->insn[i].pc;
    pcs[b->n_insn] = b->insn[b->n_insn - 1].pc + b->insn[b->n_insn - 1].len;
    tt_put_pcs(t, blk, pcs, (uint32_t)b->n_insn);
    blk->live = 1;
    struct brec *r = &t->brec[block];
    memset(r, 0, sizeof *r);
    r->compare = (uint16_t)e->compare;
    r->inner = (uint16_t)e->inner;
    r->unmasked = (uint16_t)e->unmasked;
    r->called = (uint16_t)e->called;
    if (e->where)
        r->where = e->where;
    else
        r->mask = e->mask;
    r->first_exit = first_exit;
    m->n_exits += (uint32_t)e->n_exits;
    __atomic_store_n(&m->n_blocks, block + 1, __ATOMIC_RELEASE);
    t->stats.blocks++;
    t->stats.insns += (uint64_t)b->n_insn;
    t->stats.host_bytes += e->len;
    t->stats.compared += e->compare != 0;
    for (int i = 0; i < b->n_insn; i++) t->stats.guest_bytes += b->insn[i].len;
    return block;
}

/* A block that nobody asked for yet.  Its pages are not told to the runtime
 * before it may run, so only those will do that are watched or cannot change. */
static bool speculative_ok(const struct transtab *t, const struct ublock *b) {
    if (b->n_u == 0) return false;
    const struct uinstr *u = &b->u[b->n_u - 1];
    if (u->op == U_EXIT && b->n_insn <= 1 && (u->kind == IP_X_ILLEGAL || u->kind == IP_X_FAULTPC)) return false;
    for (int i = 0; i < b->n_pages; i++)
        if (!tt_is_watched(t, b->pages[i]) && !tt_is_stable(t, b->pages[i])) return false;
    return true;
}

/* NOREDIR matters only where there is a binding. */
uint64_t tt_canonical(const struct transtab *t, uint64_t key) {
    if ((key & IP_KEY_NOREDIR) && !tt_binding(t, key & IP_KEY_PC)) key &= ~IP_KEY_NOREDIR;
    return key;
}

static bool is_bound(void *ctx, uint64_t pc) {
    struct transtab *t = ctx;
    if ((t->opts.flags & IP_C_TRACE_FUNCTIONS) && tt_are_apart(pc, t->ub[0]->pc)) return true;
    if (tt_binding(t, pc) != NULL || tt_is_break(t, pc)) return true;
    keep_unbound(t, pc);
    return false;
}
static int read_code(void *ctx, uint64_t pc, uint8_t *buf, int n) {
    int got = tt_read(ctx, pc, buf, n);
    keep_read(ctx, pc, got);
    return got;
}
static bool is_checked(void *ctx, uint64_t page) { return tt_is_checked(ctx, page); }
static bool is_stable(void *ctx, uint64_t page) { return tt_is_stable(ctx, page); }

/* One thread puts, under the lock, one takes, without (ip_next_used). */
static void tell_used(struct transtab *t, uint64_t addr) {
    uint32_t head = t->used_head;
    if (head - __atomic_load_n(&t->used_tail, __ATOMIC_ACQUIRE) == sizeof t->used / sizeof *t->used) return;
    t->used[head % (sizeof t->used / sizeof *t->used)] = addr;
    __atomic_store_n(&t->used_head, head + 1, __ATOMIC_RELEASE);
}

static int make_block(struct transtab *t, uint64_t key, bool speculative) {
    struct ublock *b = t->ub[0];
    struct ip_code_reader rd = {.read = read_code,
                                .ctx = t,
                                .is_bound = is_bound,
                                .is_checked = is_checked,
                                .is_stable = is_stable,
                                .peek = tt_peek};
    struct binding *bd = (struct binding *)tt_binding(t, key & IP_KEY_PC);
    bool breaks = tt_is_break(t, key & IP_KEY_PC) && !((key & IP_KEY_ONE) && t->past_break);
    if (breaks) bd = NULL;
    bool skips = bd && bd->user && t->unwrapped && (key & IP_KEY_ONE);
    bool inner = skips || (key & IP_KEY_NOREDIR);
    uint64_t target = !bd ? 0 : inner ? bd->inner : bd->target;
    if (!target) bd = NULL;
    bool one = (key & IP_KEY_ONE) || (t->opts.flags & IP_C_SINGLE_STEP);
    if (!tt_room(t)) return -2;
    keep_begin(t);
    b->key = key;
    b->pc = bd ? target : key & IP_KEY_PC;
    b->has_nr = bd != NULL && !(key & IP_KEY_TRACK);
    b->nraddr = bd && bd->wrap && !inner ? bd->addr : 0;
    b->track = (key & IP_KEY_TRACK) != 0;
    if (bd && t->tells_uses && !(bd->ran & 1u << inner)) {
        if (speculative) return -1; /* its first use is an event */
        bd->ran |= 1u << inner;
        tell_used(t, bd->addr | (inner ? IP_KEY_NOREDIR : 0));
    }
    uint64_t lo = t->exec_lo, hi = t->exec_hi;
    if (bd) t->exec_lo = 0, t->exec_hi = ~0ull; /* the target lies elsewhere */
    rd.breaks = breaks;
    run_stages(t, b, &rd, one ? 1 : block_insns(t->opts.flags));
    t->exec_lo = lo;
    t->exec_hi = hi;
    if (t->em->overflow) return -3;
    if (speculative && !speculative_ok(t, b)) return -1;
    if (!speculative && !(key & IP_KEY_ONE) && !all_watched(t, b)) return -4;
    uint32_t block = install(t, b);
    keep_made(t, block, !bd && !breaks);
    if (key & IP_KEY_ONE) return (int)block; /* never found again */
    t->n_live++;
    for (int i = 0; i < b->n_pages; i++) tt_page_add_block(t, b->pages[i], block);
    tt_publish(t, key, block);
    return (int)block;
}

/* ---- Requests, and what is made before it is asked for ------------------------------------------ */

static void ahead(struct transtab *t, uint64_t key) {
    if (t->ahead_n < AHEAD_QUEUE) t->ahead[t->ahead_n++] = key;
}

/* How far behind itself a branch leads that skips so little that the other side most often runs, too. */
#define NEAR 16

/* Where the first conditional branch of a block leads, if that is near; else 0. */
static uint64_t near_branch(const struct ublock *b) {
    for (int i = 0; i < b->n_u; i++) {
        const struct uinstr *u = &b->u[i];
        if (u->op != U_JCC) continue;
        const struct ip_insn *in = &b->insn[u->insn];
        return u->imm - in->pc < NEAR ? u->imm : 0;
    }
    return 0;
}

/* Of the resolvers of indirect functions, which one wrapper goes around, the dynamic linker calls dozens in a row. */
static void look_beside(struct transtab *t, uint64_t key) {
    const struct binding *bd = tt_binding(t, key & IP_KEY_PC);
    if (!bd || !bd->wrap || bd->user || t->tells_uses || key & ~IP_KEY_PC) return;
    int found = 0;
    for (uint32_t i = 0; i < LOOK_BESIDE && found < AHEAD_BLOCKS / 2; i++) {
        const struct binding *other = &t->bind[t->beside_at++ & (t->bind_cap - 1)];
        if (other->used != 1 || other->target != bd->target || !other->wrap || tt_find(t, other->addr)) continue;
        ahead(t, other->addr);
        found++;
    }
}

/* Where the newest block's first branch leads, if that is near, what it calls, and where that returns to: four of
 * five of them run.  Of all targets of jumps it is every second one, and what never runs lies between what does. */
static void look_ahead(struct transtab *t) {
    const struct ublock *b = t->ub[0];
    const struct uinstr *last = &b->u[b->n_u - 1];
    uint64_t branch = near_branch(b);
    if (branch) ahead(t, branch);
    if (last->op == U_CALL || (last->op == U_JMPI && last->imm && !(last->imm & JMPI_UNBOUND))) ahead(t, last->imm);
    if (last->op == U_CALL || last->op == U_CALLI) ahead(t, last->set);
}

static uint32_t finish(struct transtab *t, uint64_t key, uint32_t block) {
    if (!(key & IP_KEY_ONE)) {
        const struct binding *bd = tt_binding(t, key & IP_KEY_PC);
        tt_link_block(t, key, block);
        look_ahead(t);
        if (bd && bd->wrap && !(key & ~IP_KEY_PC)) ahead(t, key | IP_KEY_NOREDIR); /* what the wrapper calls */
    }
    return block;
}

void tt_forget_ahead(struct transtab *t) { t->ahead_at = t->ahead_n = t->ahead_left = 0; }

bool tt_ahead(struct transtab *t) {
    uint64_t began = ip_ticks();
    /* Room is for what is needed; a whole flush costs more than we gain. */
    uint64_t much = cache_limit(t) / 4 * 3;
    if (t->meta->cache_used > much || t->meta->cold_used > much || t->meta->n_blocks > IP_META_BLKMAX / 4 * 3)
        return false;
    while (t->ahead_left > 0 && t->ahead_at < t->ahead_n) {
        uint64_t key = tt_canonical(t, t->ahead[t->ahead_at++]);
        if (tt_find(t, key)) continue;
        t->req_gen++; /* the client runs: what was read for the request may have changed */
        if (keep_take(t, key)) continue;
        int made = make_block(t, key, true);
        if (made < 0) continue;
        finish(t, key, (uint32_t)made);
        t->ahead_left--;
        t->cycles += ip_ticks() - began;
        return true;
    }
    if (t->ahead_left <= 0 || !keep_ahead(t)) return false;
    t->ahead_left--;
    t->cycles += ip_ticks() - began;
    return true;
}

uint32_t tt_request(struct transtab *t, uint64_t key, uint32_t exit_id, bool *full) {
    uint64_t began = ip_ticks(), canon = tt_canonical(t, key);
    uint32_t found = canon & IP_KEY_ONE ? 0 : tt_find(t, canon), block;
    *full = false;
    t->stats.requests++;
    t->n_new_pages = 0;
    if (found) {
        block = found - 1;
    } else {
        t->req_gen++;
        if (keep_take(t, canon)) {
            tt_forget_ahead(t);
            t->ahead_left = keep_much_ahead(t);
            t->cycles += ip_ticks() - began;
            return tt_request(t, key, exit_id, full);
        }
        int made = make_block(t, canon, false);
        if (made < 0) {
            *full = made == -2;
            return 0;
        }
        tt_forget_ahead(t);
        t->ahead_left = AHEAD_BLOCKS;
        block = finish(t, canon, (uint32_t)made);
        look_beside(t, canon);
        t->cycles += ip_ticks() - began;
    }
    if (canon != key && !(key & IP_KEY_ONE)) tt_insert(t, key, block);
    if (exit_id && !(canon & IP_KEY_ONE)) {
        if (exit_id < t->meta->n_exits)
            tt_link_exit(t, exit_id, block);
        else if (exit_id - IP_CACHE_BASE < IP_CACHE_MAX)
            tt_link_check(t, exit_id, block);
    }
    return tt_entry(t, block);
}

/* ---- Whole flush ------------------------------------------------------------------------------------- */

void tt_forget_blocks(struct transtab *t) {
    tt_forget_code(t, 0, ~0ull);
    tt_forget_ahead(t);
    tt_forget_waiting(t);
    tt_forget_shapes(t);
    tt_forget_checks(t);
    t->n_xrec = 1;
    t->n_live = t->n_block_pages = 0;
}

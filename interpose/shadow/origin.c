#include "shadow/origin.h"

#include "heap/heap.h"

#define GRANULE     2 /* log2 of the bytes that share a tag */
#define KIND_SHIFT  30
#define FIRST_SLOTS 4096
#define COPY_MAX    (1ull << 20) /* longer runs keep the origin of their block */

struct tags {
    u32 gpr[16], vec[32], mmx[8], k[8], flags;
};

/* owner: which frame held a stack granule when it was tagged; another one
 * there later has nothing to do with it. */
struct cell {
    u64 granule;
    u32 tag, owner;
};

rt_lock_t origin_lock;
static struct cell *cells;
static u64 n_cells, cap_cells;

static struct tags *tags_of(struct tstate *ts) {
    u64 *p = &rt_th(ts)->origin_tags;
    if (!*p) *p = (u64)rt_pages(sizeof(struct tags));
    return (struct tags *)*p;
}

/* ---- the table ---------------------------------------------------------------------- */

static struct cell *find(u64 granule) {
    u64 i = (granule * 0x9e3779b97f4a7c15ull) >> 20;
    for (;; i++) {
        struct cell *c = &cells[i & (cap_cells - 1)];
        if (c->granule == granule || !c->granule) return c;
    }
}

static void grow(void) {
    struct cell *old = cells;
    u64 old_cap = cap_cells, live = 0;
    for (u64 i = 0; i < old_cap; i++) live += old[i].tag != 0;
    u64 cap = FIRST_SLOTS;
    while (cap < live * 4) cap *= 2;
    cells = rt_pages(cap * sizeof *cells);
    cap_cells = cap;
    n_cells = 0;
    for (u64 i = 0; i < old_cap; i++)
        if (old[i].tag) {
            *find(old[i].granule) = old[i];
            n_cells++;
        }
    if (old) rt_free_pages(old, old_cap * sizeof *old);
}

static void put(u64 granule, u32 tag, u32 owner) {
    if (n_cells * 2 >= cap_cells) grow();
    struct cell *c = find(granule);
    if (!c->granule) {
        c->granule = granule;
        n_cells++;
    }
    c->tag = tag;
    c->owner = owner;
}

/* ---- where undefined memory comes from ------------------------------------------------ */

static bool on_stack(const struct tstate *ts, u64 addr) { return addr >= ts->stack_lo && addr < ts->stack_hi; }

/* The frame that holds a stack address: an address in its function, and a
 * number that another frame at the same place most likely does not have. */
static u64 frame_at(struct tstate *ts, u64 addr, u32 *owner) {
    u64 ip = ts->pc & IP_KEY_PC, sp = ts->gpr[IP_RSP];
    *owner = 0;
    for (u64 p = ts->cs_top; p >= ts->cs_base && p < ts->cs_limit; p -= sizeof(struct ip_csent)) {
        const struct ip_csent *e = (const struct ip_csent *)p;
        u64 slot = ~e->not_sp, ret;
        if (!e->retaddr || slot < sp || rt_copy_from(&ret, slot, 8) < 0 || ret != e->retaddr) continue;
        *owner = (u32)((slot ^ ret * 0x9e3779b97f4a7c15ull) >> 8);
        if (addr < slot) return ip;
        ip = ret - 1;
        sp = slot + 8;
    }
    return ip;
}

static u32 make_tag(u32 kind, const u64 *frames, u32 n) {
    rt_lock(&heap_lock);
    u32 ctx = heap_ctx(frames, n);
    rt_unlock(&heap_lock);
    return ctx && ctx < 1u << KIND_SHIFT ? kind << KIND_SHIFT | ctx : 0;
}

static u32 untouched(struct tstate *ts, u64 addr) {
    if (on_stack(ts, addr)) {
        u32 owner;
        u64 ip = frame_at(ts, addr, &owner);
        return make_tag(ORIGIN_STACK, &ip, 1);
    }
    u32 i = heap_describe(addr), ctx = 0;
    if (i) {
        rt_lock(&heap_lock);
        const struct ip_heap_block *b = heap_block(i);
        if (addr >= b->addr && addr < b->addr + b->size) ctx = b->alloc_ctx;
        rt_unlock(&heap_lock);
    }
    return ctx && ctx < 1u << KIND_SHIFT ? (u32)ORIGIN_HEAP << KIND_SHIFT | ctx : ORIGIN_UNKNOWN;
}

u32 origin_of_memory(struct tstate *ts, u64 addr) {
    u32 tag = 0, owner = 0, now;
    if (!origins_kept()) return 0;
    rt_lock(&origin_lock);
    if (cells) {
        const struct cell *c = find(addr >> GRANULE);
        if (c->granule) {
            tag = c->tag;
            owner = c->owner;
        }
    }
    rt_unlock(&origin_lock);
    if (tag && on_stack(ts, addr)) {
        frame_at(ts, addr, &now);
        if (now != owner) tag = 0;
    }
    return tag ? tag : untouched(ts, addr);
}

static void tag_memory(struct tstate *ts, u64 addr, u64 n, u32 tag) {
    u64 at;
    u32 owner = 0;
    /* What an invalid write would have left says nothing about the block's last bytes, in the same granule. */
    if (!tag || n > COPY_MAX || !rt_shadow_undef_only(ts, addr, n, &at)) return;
    if (on_stack(ts, addr)) frame_at(ts, addr, &owner);
    rt_lock(&origin_lock);
    for (u64 g = at >> GRANULE; g <= (addr + n - 1) >> GRANULE; g++) put(g, tag, owner);
    rt_unlock(&origin_lock);
}

void origin_copied(struct tstate *ts, u64 dst, u64 src, u64 n) {
    if (!origins_kept() || n > COPY_MAX) return;
    for (u64 i = 0, at; i < n && rt_shadow_undef(src + i, n - i, &at); i = (at | 3) + 1 - src) {
        u64 left = (at | 3) + 1 - at, end = src + n - at;
        tag_memory(ts, dst + (at - src), left < end ? left : end, origin_of_memory(ts, at));
    }
}

void origin_forget(u64 addr, u64 n) {
    if (!origins_kept() || !n) return;
    u64 first = addr >> GRANULE, last = (addr + n - 1) >> GRANULE;
    rt_lock(&origin_lock);
    if (!n_cells) {
        /* nothing */
    } else if (last - first < cap_cells) {
        for (u64 g = first; g <= last; g++) find(g)->tag = 0;
    } else {
        for (u64 i = 0; i < cap_cells; i++)
            if (cells[i].granule >= first && cells[i].granule <= last) cells[i].tag = 0;
    }
    rt_unlock(&origin_lock);
}

void origin_by_request(struct tstate *ts, u64 addr, u64 n) {
    u64 frames[64];
    u64 want = rt.chan->num_callers < 64 ? rt.chan->num_callers : 64;
    if (!origins_kept()) return;
    tag_memory(ts, addr, n, make_tag(ORIGIN_CLIENT, frames, rt_stack_trace(ts, frames, (u32)want)));
}

/* ---- instructions --------------------------------------------------------------------------- */

u32 origin_of_gpr(struct tstate *ts, unsigned r) { return origins_kept() ? tags_of(ts)->gpr[r] : 0; }

/* Memory that the instruction reads (write: writes) apart from its ModRM
 * operand: the stack, strings. */
static u64 implicit(const struct tk *t, unsigned i, bool write, u64 *n) {
    const struct ip_operand *op = &t->in->ops[i];
    u64 at = t->ts->gpr[op->reg & 15];
    *n = op->size;
    if (op->reg == IP_RSP) return write ? at - op->size : at;
    if (t->in->rep) {
        u64 count = t->ts->gpr[IP_RCX];
        *n = count > COPY_MAX ? 0 : count * op->size;
    }
    return at;
}

static bool known(u32 tag) { return tag >> KIND_SHIFT != 0; }

/* An undefined input has this tag: true if that is an answer. */
static bool from(struct tk *t, u32 tag) {
    t->origin = known(tag) ? tag : ORIGIN_UNKNOWN;
    return known(tag);
}

static bool from_registers(struct tk *t, const struct tags *g) {
    const struct ip_insn *in = t->in;
    const struct tstate *ts = t->ts;
    for (unsigned r = 0; r < 16; r++)
        if ((in->gpr_read >> r & 1) && ts->vgpr[r] && from(t, g->gpr[r])) return true;
    for (unsigned r = 0; r < 32; r++)
        if ((in->vec_read >> r & 1) && !tk_zero(ts->vvec + 64 * r, 64) && from(t, g->vec[r])) return true;
    for (unsigned r = 0; r < 8; r++) {
        if ((in->mmx_read >> r & 1) && ts->vmmx[r] && from(t, g->mmx[r])) return true;
        if ((in->k_read >> r & 1) && ts->vk[r] && from(t, g->k[r])) return true;
    }
    return (in->fl_read & IP_FL_ARITH) && ts->vflags && from(t, g->flags);
}

void origin_begin(struct tk *t) {
    const struct ip_insn *in = t->in;
    u64 bad, n;
    t->origin = 0;
    if (from_registers(t, tags_of(t->ts))) return;
    if (in->mem.present && (in->mem.access & IP_ACC_R) && !in->mem.vsib && in->mem.size <= 64 &&
        rt_shadow_undef(tk_ea_raw(t), tk_mem_size(in), &bad))
        from(t, origin_of_memory(t->ts, bad));
    for (unsigned i = 0; i < in->n_ops && !known(t->origin); i++) {
        if (in->ops[i].kind != IP_OP_MEM_IMPL || !(in->ops[i].access & IP_ACC_R)) continue;
        u64 at = implicit(t, i, false, &n);
        if (rt_shadow_undef(at, n, &bad)) from(t, origin_of_memory(t->ts, bad));
    }
}

void origin_end(struct tk *t) {
    const struct ip_insn *in = t->in;
    struct tstate *ts = t->ts;
    struct tags *g = tags_of(ts);
    u64 n;
    if (!t->origin) return;
    for (unsigned r = 0; r < 16; r++)
        if ((in->gpr_write >> r & 1) && ts->vgpr[r]) g->gpr[r] = t->origin;
    for (unsigned r = 0; r < 32; r++)
        if (in->vec_write >> r & 1) g->vec[r] = t->origin;
    for (unsigned r = 0; r < 8; r++) {
        if (in->mmx_write >> r & 1) g->mmx[r] = t->origin;
        if (in->k_write >> r & 1) g->k[r] = t->origin;
    }
    if (in->fl_write & IP_FL_ARITH) g->flags = t->origin;
    if (in->mem.present && (in->mem.access & IP_ACC_W) && !in->mem.vsib && in->mem.size <= 64)
        tag_memory(ts, tk_ea_raw(t), tk_mem_size(in), t->origin);
    for (unsigned i = 0; i < in->n_ops; i++) {
        if (in->ops[i].kind != IP_OP_MEM_IMPL || !(in->ops[i].access & IP_ACC_W)) continue;
        u64 at = implicit(t, i, true, &n);
        tag_memory(ts, at, n, t->origin);
    }
}

#include "shadow/origin.h"

#include "heap/heap.h"
#include "runtime/base/peek.h"
#include "runtime/seam.h"
#include "shadow/origin_table.h"
#include "shadow/track_vec.h"

#define KIND_SHIFT IP_ORIGIN_SHIFT
#define COPY_MAX   (1ull << 20)  /* what goes beyond keeps the origin of its block */
#define TOLD_MAX   (64ull << 20) /* the same where it is told: tags take as much memory as what they are of */
#define UNTAGGED   16            /* blocks of tags beside one, at most, of which is noted that they are empty */
#define THREADS    8             /* whose stacks are looked at, and how many of their calls, */
#define CALLS      256           /* for what is not on the thread's own */

/* What moves.S has as numbers. */
#define AT(type, field, at) _Static_assert(offsetof(type, field) == (at), "moves.S: " #field)
AT(struct ip_origins, gpr, 0);
AT(struct ip_origins, vec, 64);
AT(struct origin_place, number, 0);
AT(struct origin_place, chunk, 8);
AT(struct origin_chunk, tags, 8);
AT(struct origin_chunk, owners, 16);
AT(struct origin_chunk, blocks, 24);
AT(struct origin_untagged, size, 8);
AT(struct origin_untagged, of, 16);
AT(struct origin_untagged, addr, 24);
AT(struct origin_untagged, ctx, 32);
AT(struct origin_untagged, state, 36);
AT(struct origin_untagged, tag, 40);
AT(struct origin_untagged, generation, 48);
AT(struct origin_near, call, 264);
AT(struct origin_near, untagged, 272);
AT(struct origin_near, stacks_seen, 328);
AT(struct origin_near, off, 336);
AT(struct origin_near, recent, 848);
AT(struct ip_heap_block, addr, 0);
AT(struct ip_heap_block, alloc_ctx, 16);
AT(struct ip_heap_block, state, 28);
AT(struct heap_single, pc, 0);
AT(struct heap_single, ctx, 8);
AT(struct tstate, cs_limit, 0x120);
_Static_assert(offsetof(struct tstate, runtime_area) + offsetof(struct rt_thread, origin_tags) == 0x1548 &&
                   offsetof(struct tstate, runtime_area) + offsetof(struct rt_thread, target_kept) == 0x1650,
               "moves.S");
_Static_assert(sizeof(struct ip_csent) == 16 && sizeof(struct ip_heap_block) == 32 &&
                   sizeof(struct heap_single) == 16 && HEAP_SINGLES == 256 && sizeof(struct origin_place) == 16 &&
                   ORIGIN_RECENT == 64 && ORIGIN_PAGES_OFF == 64 && ORIGIN_CHUNK == 20 && ORIGIN_BLOCK == 8 &&
                   ORIGIN_GRANULE == 2 && IP_ORIGIN_SHIFT == 29 && ORIGIN_STACK == 2 && ORIGIN_DEEP == 5 &&
                   ORIGIN_UNKNOWN == 1 && SH_REDZONE == 128 && IP_KEY_PC == ~0ull >> 16,
               "moves.S: tables, tags, keys");

rt_lock_t origin_lock;

/* Who holds both locks by origin_hold; written under them. */
static struct tstate *holder;

static bool holds(const struct tstate *ts) { return rt_alone || __atomic_load_n(&holder, __ATOMIC_RELAXED) == ts; }
static void lock(const struct tstate *ts, rt_lock_t *l) {
    if (!holds(ts)) rt_lock(l);
}
static void unlock(const struct tstate *ts, rt_lock_t *l) {
    if (!holds(ts)) rt_unlock(l);
}

struct ip_origins *origin_new_tags(struct tstate *ts) {
    lock(ts, &origin_lock);
    struct origin_near *near = origin_new_near();
    unlock(ts, &origin_lock);
    rt_th(ts)->origin_tags = (u64)near;
    return &near->tags;
}

void origin_thread_end(struct tstate *ts) {
    struct origin_near *near = (struct origin_near *)rt_th(ts)->origin_tags;
    if (!near) return;
    rt_th(ts)->origin_tags = 0;
    lock(ts, &origin_lock);
    origin_end_near(near);
    unlock(ts, &origin_lock);
}

static struct origin_near *near_of(struct tstate *ts) { return (struct origin_near *)origin_tags(ts); }

bool origin_hold(struct tstate *ts) {
    if (!rt_trylock_soon(&heap_lock)) return false;
    if (!rt_trylock_soon(&origin_lock)) {
        rt_unlock(&heap_lock);
        return false;
    }
    __atomic_store_n(&holder, ts, __ATOMIC_RELAXED);
    return true;
}

void origin_let_go(void) {
    __atomic_store_n(&holder, NULL, __ATOMIC_RELAXED);
    rt_unlock(&origin_lock);
    rt_unlock(&heap_lock);
}

/* ---- where undefined memory comes from ------------------------------------------------ */

static bool on_stack(const struct tstate *ts, u64 addr) { return addr >= ts->stack_lo && addr < ts->stack_hi; }

/* What is the same for all of [lo, hi): who owns it, and the origin of what was never copied there. */
struct place {
    u64 lo, hi;
    u64 ip;    /* an address in the function whose frame it is, or 0 */
    u32 owner; /* of a frame: a number that another one at the same place most likely does not have */
    u32 tag;   /* 0: not asked for yet */
    bool deep; /* of a frame: below its red zone, in what its function has made room for */
};

static bool is_in(const struct place *p, u64 addr) { return addr >= p->lo && addr < p->hi; }

/* What tells frames at the same place apart, most likely. */
static u32 frame_owner(u64 slot, u64 ret) { return (u32)((slot ^ ret * 0x9e3779b97f4a7c15ull) >> 8); }

/* addr is in the frame that begins at slot, with a red zone: that was the caller's to give, as under Valgrind, where it
 * gets its origin by the call. */
static void bound(struct place *f, u64 addr, u64 slot) {
    f->deep = addr < slot - SH_REDZONE;
    f->hi = f->deep ? slot - SH_REDZONE : slot;
}

/* The frame that holds a stack address. */
static void frame_at(struct tstate *ts, u64 addr, struct place *f) {
    const struct ip_csent *seen = NULL;
    u64 sp = ts->gpr[IP_RSP];
    *f = (struct place){.lo = addr, .hi = ts->stack_hi, .ip = ts->pc & IP_KEY_PC};
    for (u64 p = ts->cs_top; p >= ts->cs_base && p < ts->cs_limit; p -= sizeof(struct ip_csent)) {
        const struct ip_csent *e = (const struct ip_csent *)p;
        u64 slot = rt_return_slot(e);
        if (rt_is_interrupted(e, seen)) sp = e->above;
        if (!e->retaddr || slot < sp || !rt_below_is(e->above, e->retaddr)) continue;
        seen = e;
        f->owner = frame_owner(slot, e->retaddr);
        if (addr < slot) {
            bound(f, addr, slot);
            return;
        }
        f->ip = e->retaddr - 1;
        sp = slot + 8;
    }
}

/* The same on another thread's stack, while that runs: so everything may be gone, and what its newest frame does is not
 * known (ip 0).  False: it is on none. */
static bool frame_elsewhere(struct tstate *ts, u64 addr, struct place *f) {
    const struct tstate *o;
    struct origin_near *near = near_of(ts);
    u64 changed = __atomic_load_n(&rt_stacks_changed, __ATOMIC_ACQUIRE), *off;
    if (near->stacks_seen != changed) memset(near->off, 0, sizeof near->off);
    near->stacks_seen = changed;
    off = &near->off[addr / RT_PAGE % ORIGIN_PAGES_OFF];
    if (*off == addr / RT_PAGE) return false;
    for (u32 i = 0; i < THREADS && (o = rt_thread_by_index(i)); i++) {
        u64 bounds[2], top, base, sp = 0;
        if (o == ts || rt_copy_from(bounds, (u64)&o->stack_lo, sizeof bounds) < 0) continue;
        if (addr < bounds[0] || addr >= bounds[1]) continue;
        if (rt_copy_from(&top, (u64)&o->cs_top, 8) < 0 || rt_copy_from(&base, (u64)&o->cs_base, 8) < 0) return false;
        *f = (struct place){.lo = addr, .hi = bounds[1]};
        for (u32 calls = 0; calls < CALLS && top >= base; calls++, top -= sizeof(struct ip_csent)) {
            struct ip_csent e;
            u64 ret;
            if (rt_copy_from(&e, top, sizeof e) < 0) return false;
            u64 slot = rt_return_slot(&e);
            if (!e.retaddr || slot < sp || rt_copy_from(&ret, slot, 8) < 0 || ret != e.retaddr) continue;
            f->owner = frame_owner(slot, ret);
            if (addr < slot) {
                bound(f, addr, slot);
                return true;
            }
            f->ip = ret - 1;
            sp = slot + 8;
        }
        return f->owner;
    }
    *off = addr / RT_PAGE;
    return false;
}

static u32 make_tag(u32 kind, u32 ctx) { return ctx && ctx < 1u << KIND_SHIFT ? kind << KIND_SHIFT | ctx : 0; }

static u32 stack_tag(const struct tstate *ts, const struct place *p) {
    lock(ts, &heap_lock);
    u32 ctx = heap_ctx_of(p->ip);
    unlock(ts, &heap_lock);
    return make_tag(p->deep ? ORIGIN_DEEP : ORIGIN_STACK, ctx);
}

/* Of undefined memory that has no tag. */
static u32 untouched(struct tstate *ts, u64 addr, struct place *p) {
    if (on_stack(ts, addr)) {
        if (!is_in(p, addr)) frame_at(ts, addr, p);
        return p->tag ? p->tag : (p->tag = stack_tag(ts, p));
    }
    if (is_in(p, addr)) return p->tag;
    *p = (struct place){.lo = addr};
    lock(ts, &heap_lock);
    u32 ctx, tag = 0;
    /* That it is a block's is known without a stack, too (--keep-stacktraces). */
    if (heap_allocated_by(addr, &ctx, &p->hi)) tag = ctx ? make_tag(ORIGIN_HEAP, ctx) : ORIGIN_HEAP << KIND_SHIFT;
    unlock(ts, &heap_lock);
    if (!tag && !rt_alone && frame_elsewhere(ts, addr, p) && p->ip) tag = stack_tag(ts, p);
    return p->tag = tag ? tag : ORIGIN_UNKNOWN;
}

/* What the table says of a granule. */
struct known {
    u32 tag, owner;
};

/* c: the chunk that it is in, or NULL. */
static inline struct known known_in(const struct origin_chunk *c, u32 granule) {
    u32 tag = c ? c->tags[granule] : 0;
    return (struct known){tag, tag && c->owners ? c->owners[granule] : 0};
}

static struct known known_at(const struct tstate *ts, u64 addr) {
    lock(ts, &origin_lock);
    struct known k = known_in(origin_chunk_of(addr), origin_granule(addr));
    unlock(ts, &origin_lock);
    return k;
}

/* Of the undefined byte at addr, of whose granule that is known; p: a place that was looked at already. */
static inline u32 tag_of(struct tstate *ts, u64 addr, struct known k, struct place *p) {
    if (k.tag && on_stack(ts, addr)) { /* another frame that is there later has nothing to do with it */
        if (!is_in(p, addr)) frame_at(ts, addr, p);
        if (p->owner != k.owner) k.tag = 0;
    }
    return k.tag ? k.tag : untouched(ts, addr, p);
}

static u32 tag_at(struct tstate *ts, u64 addr, struct place *p) { return tag_of(ts, addr, known_at(ts, addr), p); }

u32 origin_of_memory(struct tstate *ts, u64 addr) {
    struct place p = {0};
    return origins_kept() ? tag_at(ts, addr, &p) : 0;
}

/* Whether addr is on a stack, and in which frame: what is stored there is that one's. */
static bool owned(struct tstate *ts, u64 addr, struct place *f) {
    if (!on_stack(ts, addr)) return !rt_alone && frame_elsewhere(ts, addr, f);
    frame_at(ts, addr, f);
    return true;
}

static void tag_range(struct tstate *ts, u64 lo, u64 hi, u32 tag) {
    struct place f = {0};
    bool stack = owned(ts, lo, &f);
    lock(ts, &origin_lock);
    origin_set_tags(lo, hi, tag, stack ? &f.owner : NULL);
    unlock(ts, &origin_lock);
}

static void tag_memory(struct tstate *ts, u64 addr, u64 n, u32 tag) {
    u64 at;
    /* What an invalid write would have left says nothing about the block's last bytes, in the same granule. */
    if (tag && n <= COPY_MAX && rt_shadow_undef_only(ts, addr, n, &at)) tag_range(ts, at, addr + n, tag);
}

/* The first byte from i on with V bits; n: there is none. */
static inline u64 next_undefined(const u64 *v, u64 i, u64 n) {
    for (; i < n; i = (i | 7) + 1) {
        u64 word = v[i / 8] >> 8 * (i % 8);
        if (!word) continue;
        i += (u64)__builtin_ctzll(word) / 8;
        break;
    }
    return i < n ? i : n;
}

/* tag, joined by that of the granule of at, of which k is known; before: what was known of the one before it. */
static inline u32 join(struct tstate *ts, u32 tag, u64 at, struct known k, struct known before, struct place *p) {
    bool alike = tag && k.tag == before.tag && k.owner == before.owner;
    return alike && (is_in(p, at) || (k.tag && !on_stack(ts, at))) ? tag : origin_newer(tag, tag_of(ts, at, k, p));
}

/* Nothing near addr, in chunk c or where there is none, has a tag: so far as it is a block's, for the next loads. */
static void note_untagged(struct tstate *ts, const struct origin_chunk *c, u64 addr, u32 tag) {
    const struct ip_heap_block *b = holds(ts) ? heap_plain_block(addr) : NULL;
    if (!b) return;
    const u64 line = 1ull << ORIGIN_BLOCK, chunk = RT_ROUND_DOWN(addr, 1ull << ORIGIN_CHUNK), end = b->addr + b->size;
    u64 lo = c ? RT_ROUND_DOWN(addr, line) : chunk, hi = c ? lo + line : chunk + (1ull << ORIGIN_CHUNK);
    for (u32 i = 0; c && i < UNTAGGED && lo > chunk && lo > b->addr && !origin_noted(c, origin_granule(lo - 1)); i++)
        lo -= line;
    for (u32 i = 0; c && i < UNTAGGED && hi < chunk + (1ull << ORIGIN_CHUNK) && hi < end; i++) {
        if (origin_noted(c, origin_granule(hi))) break;
        hi += line;
    }
    if (lo < b->addr) lo = b->addr;
    if (hi > end) hi = end;
    struct origin_untagged *u = &near_of(ts)->untagged;
    *u = (struct origin_untagged){.lo = lo, .size = hi - lo, .of = b, .addr = b->addr, .ctx = b->alloc_ctx, .tag = tag};
    u->generation = origin_generation;
    memcpy(&u->state, &b->state, sizeof u->state);
}

u32 origin_loaded(struct tstate *ts, u64 addr, u64 n, const u64 *v) {
    struct place p;
    struct known k, before = {0, 0};
    const u64 size = 1ull << ORIGIN_GRANULE, step = n > 16 ? n / 4 : size, first = next_undefined(v, 0, n);
    u32 tag = 0, g = origin_granule(addr);
    if (first >= n) return 0;
    p.lo = p.hi = 0;
    lock(ts, &origin_lock);
    const struct origin_chunk *c = origin_chunk_of(addr); /* which is never given back */
    unlock(ts, &origin_lock);
    const u32 last = origin_granule(addr + n - 1);
    if (last >= g && (!c || (!origin_noted(c, g) && !origin_noted(c, last)))) {
        tag = origin_newer(0, untouched(ts, addr + first, &p));
        if (!on_stack(ts, addr)) note_untagged(ts, c, addr, tag);
        if (p.hi >= addr + n) return tag;
        tag = 0;
    }
    if (last == g) return origin_newer(0, tag_of(ts, addr + first, known_in(c, g), &p));
    if ((addr | n) % size == 0 && last > g) {
        for (u64 i = 0; i < n;) {
            if (!(u32)(v[i / 8] >> 8 * (i % 8))) {
                i += size;
                continue;
            }
            k = known_in(c, g + (u32)(i / size));
            tag = join(ts, tag, addr + i, k, before, &p);
            before = k;
            i += step;
        }
        return tag;
    }
    for (u64 i = first; i < n;) {
        u64 at = addr + i;
        k = known_at(ts, at);
        tag = join(ts, tag, at, k, before, &p);
        before = k;
        i = next_undefined(v, (at & -size) + step - addr, n);
    }
    return tag;
}

void origin_stored(struct tstate *ts, u64 addr, u64 n, const u64 *v, u32 tag) {
    struct place f;
    u64 i = tag ? next_undefined(v, 0, n) : n;
    if (i >= n) return;
    if (!rt_alone) {
        tag_range(ts, addr + i, addr + n, tag);
    } else if (on_stack(ts, addr)) {
        frame_at(ts, addr + i, &f);
        origin_set_few(addr + i, addr + n, tag, &f.owner);
    } else {
        origin_set_few(addr + i, addr + n, tag, NULL);
    }
}

/* The undefined bytes among [from, from + n), copied to one line, keep their origins; false: not in this way. */
static bool copied_at_once(struct tstate *ts, u64 to, u64 from, u64 n, struct place *p) {
    u32 tags[ORIGIN_TAGS], untagged = 0;
    if (on_stack(ts, from) || (to ^ from) & ((1u << ORIGIN_GRANULE) - 1)) return false;
    u32 many = origin_granule(to + n - 1) - origin_granule(to) + 1;
    lock(ts, &origin_lock);
    origin_get_tags(from, many, tags);
    unlock(ts, &origin_lock);
    for (u32 i = 0; i < many; i++) {
        if (tags[i]) continue;
        if (!untagged) untagged = untouched(ts, from, p);
        if (from + n > p->hi) return false;
        tags[i] = untagged;
    }
    struct place f = {0};
    bool stack = owned(ts, to, &f);
    lock(ts, &origin_lock);
    origin_put_tags(to, many, tags, stack ? &f.owner : NULL);
    unlock(ts, &origin_lock);
    return true;
}

/* The same, by granules of the source; all are looked at before any is written. */
static void copied(struct tstate *ts, u64 to, u64 from, u64 n, struct place *p) {
    struct {
        u64 to, n;
        u32 tag;
    } parts[ORIGIN_TAGS + 1];
    u32 many = 0;
    for (u64 i = 0, at; i < n && rt_shadow_undef(to + i, n - i, &at); many++) {
        u64 source = from + (at - to), end = (source | ((1u << ORIGIN_GRANULE) - 1)) + 1 - from;
        i = end < n ? end : n;
        parts[many].to = at;
        parts[many].n = to + i - at;
        parts[many].tag = tag_at(ts, source, p);
    }
    for (u32 k = 0; k < many; k++) tag_memory(ts, parts[k].to, parts[k].n, parts[k].tag);
}

/* What of a copy, from i on, is in one line of where it went, up to n; returns where it ends. */
static u64 copied_to_line(struct tstate *ts, u64 dst, u64 src, u64 i, u64 n, struct place *p) {
    u64 at, next = ((dst + i) | ((1u << ORIGIN_LINE) - 1)) + 1 - dst, end;
    if (next > n) next = n;
    /* It is looked for there: what has been copied may be overwritten where it was. */
    if (!rt_shadow_undef(dst + i, next - i, &at)) return next;
    for (end = dst + next; !*(const u8 *)sh_v(end - 1);) end--;
    u64 from = src + (at - dst);
    if (!copied_at_once(ts, at, from, end - at, p)) copied(ts, at, from, end - at, p);
    return next;
}

static bool meets_stack(const struct tstate *ts, u64 lo, u64 n) { return lo < ts->stack_hi && lo + n > ts->stack_lo; }

/* From one block to another one, as realloc does, whole lines are done under one lock; how much is done so. */
static u64 copied_in_bulk(struct tstate *ts, u64 to, u64 from, u64 n, u64 *lines, struct place *p) {
    struct place f = {0};
    if (n < 1u << ORIGIN_LINE || (to ^ from) & ((1u << ORIGIN_GRANULE) - 1)) return 0;
    if (meets_stack(ts, from, n) || meets_stack(ts, to, n) || owned(ts, to, &f) || owned(ts, to + n - 1, &f)) return 0;
    u32 tag = untouched(ts, from, p);
    if (p->hi < from + n) n = p->hi > from ? p->hi - from : 0;
    /* A loop that makes a block grow asks for each from the same place: what has no tag says the same in both. */
    struct place there = {0};
    bool alike = untouched(ts, to, &there) == tag && there.hi >= to + n;
    lock(ts, &origin_lock);
    origin_copy_tags(to, from, n, tag, alike, lines);
    unlock(ts, &origin_lock);
    return n;
}

void origin_copied(struct tstate *ts, u64 dst, u64 src, u64 n) {
    struct place p = {0};
    u64 lines = COPY_MAX >> ORIGIN_LINE, at;
    if (!origins_kept()) return;
    if (dst > src && dst - src < n) { /* from the end, as the bytes themselves */
        for (u64 i = n; i && lines--;) {
            u64 line = (dst + i - 1) & -(1ull << ORIGIN_LINE), begin = line > dst ? line - dst : 0;
            copied_to_line(ts, dst, src, begin, i, &p);
            i = begin;
        }
        return;
    }
    u64 done = copied_in_bulk(ts, dst, src, n, &lines, &p);
    for (u64 i = done; i < n && lines && rt_shadow_undef(dst + i, n - i, &at); lines--)
        i = copied_to_line(ts, dst, src, at - dst, n, &p);
}

void origin_note_place(struct tstate *ts, u64 addr) {
    struct origin_chunk *c = origin_chunk_of(addr);
    if (c) *origin_recent_of(near_of(ts)->recent, c->number) = (struct origin_place){c->number, c};
}

void origin_forget(u64 addr, u64 n) {
    if (!origins_kept() || !n) return;
    const struct tstate *ts = rt_alone ? NULL : rt_current();
    lock(ts, &origin_lock);
    origin_forget_tags(addr, addr + n);
    unlock(ts, &origin_lock);
}

void origin_of_block(u64 addr, u64 n) {
    if (!origins_kept()) return;
    const struct tstate *ts = rt_alone ? NULL : rt_current();
    lock(ts, &origin_lock);
    origin_void_untagged(0, ~0ull);
    origin_forget_tags(addr, addr + n);
    unlock(ts, &origin_lock);
}

static void tag_here(struct tstate *ts, u64 addr, u64 n, u32 kind) {
    u64 frames[64];
    u64 want = rt.chan->num_callers < 64 ? rt.chan->num_callers : 64;
    if (!origins_kept()) return;
    u32 many = rt_stack_trace(ts, frames, (u32)want);
    rt_lock(&heap_lock);
    u32 ctx = heap_ctx(frames, many);
    rt_unlock(&heap_lock);
    for (u64 piece; n && n <= TOLD_MAX; addr += piece, n -= piece) {
        piece = n < COPY_MAX ? n : COPY_MAX;
        tag_memory(ts, addr, piece, make_tag(kind, ctx));
    }
}

void origin_by_request(struct tstate *ts, u64 addr, u64 n) { tag_here(ts, addr, n, ORIGIN_CLIENT); }

void origin_by_heap(struct tstate *ts, u64 addr, u64 n) { tag_here(ts, addr, n, ORIGIN_HEAP); }

/* The call has been made, so its address is the next instruction's. */
void origin_by_call(struct tstate *ts, u64 addr, u64 n) {
    u64 pc = ts->pc;
    ts->pc += 2;
    tag_here(ts, addr, n, ORIGIN_OTHER);
    ts->pc = pc;
}

/* ---- instructions --------------------------------------------------------------------------- */

u32 origin_of_gpr(struct tstate *ts, unsigned r) { return origins_kept() ? origin_tags(ts)->gpr[r] : 0; }

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

/* An undefined input has this tag. */
static void from(struct tk *t, u32 tag) { t->origin = origin_newer(t->origin, tag); }

/* Undefined memory is an input.  Of more than 16 bytes, as a vector has, not each granule is looked at. */
static void from_memory(struct tk *t, u64 at, u64 n) {
    u64 step = n > 16 ? n / 4 : 1u << ORIGIN_GRANULE, bad;
    for (u64 i = at; i < at + n && rt_shadow_undef(i, at + n - i, &bad); i = (bad & -(1ull << ORIGIN_GRANULE)) + step)
        from(t, origin_of_memory(t->ts, bad));
}

void origin_from_elements(struct tk *t, u64 at, u64 n) { from_memory(t, at, n); }

void origin_to_elements(struct tk *t, u64 at, u64 n) {
    if (t->origin) tag_memory(t->ts, at, n, t->origin);
}

/* The lowest bit of *m goes to *r. */
static inline bool next_bit(u64 *m, unsigned *r) {
    if (!*m) return false;
    *r = (unsigned)__builtin_ctzll(*m);
    *m &= *m - 1;
    return true;
}

/* What makes one low element, and has the rest from a register: which registers that element comes from, and how many
 * bytes of them.  What is above may be undefined for long, from something else: a register's first value that was a
 * scalar.  0: it is another instruction. */
static unsigned low_element(const struct ip_insn *in, u32 *regs) {
    const struct vec_rule *r = in->evex_k ? NULL : track_vec_rule(in->mnem);
    unsigned last = in->n_ops;
    *regs = in->vec_read;
    switch (r ? r->cls : V_NONE) {
    case V_SCALAR:
    case V_SCALAR3:
    case V_SCALAR3F:
    case V_CMPSCALAR:
    case V_COMI:
    case V_F2INT: return r->p;
    case V_MOVESCALAR:
    case V_SCALARU:
    case V_CVTLOW:
    case V_INT2F:
        while (last && in->ops[last - 1].kind == IP_OP_IMM) last--;
        *regs &= last && in->ops[last - 1].kind == IP_OP_VEC ? 1u << (in->ops[last - 1].reg & 31) : 0;
        return r->cls == V_CVTLOW ? r->q : r->p;
    default: return 0;
    }
}

/* The destination of an instruction whose mask leaves nothing of it as it was: no source then.  Compilers have every
 * intrinsic without a mask there, with a destination that holds whatever it does. */
static u32 overwritten(struct tk *t) {
    const struct ip_insn *in = t->in;
    const struct ip_operand *to = &in->ops[0];
    const struct vec_rule *r = in->evex_k && !in->evex_z ? track_vec_rule(in->mnem) : NULL;
    if (!r || to->kind != IP_OP_VEC) return 0;
    switch (r->cls) {
    case V_CAST3:
    case V_PRODUCTS3:
    case V_TERNARY:
    case V_PERM2SRC:
    case V_SHIFT2:
    case V_SCALAR3:
    case V_SCALAR3F:
    case V_MOVESCALAR: return 0; /* has it, or more than the mask governs, from there */
    default: break;
    }
    for (unsigned i = 1; i < in->n_ops; i++)
        if (in->ops[i].kind == IP_OP_VEC && in->ops[i].reg == to->reg) return 0;
    unsigned n = to->size / (to->esize ? to->esize : 1);
    u64 all = n < 64 ? (1ull << n) - 1 : ~0ull;
    return (t->ts->vk[in->evex_k] | ~tk_k_value(t, in->evex_k)) & all ? 0 : 1u << (to->reg & 31);
}

static void from_vectors(struct tk *t, const struct ip_origins *g, u32 regs, unsigned n) {
    unsigned r;
    for (u64 m = regs & (u32)(t->ts->umask >> IP_U_VEC0); next_bit(&m, &r);)
        if (!tk_zero(t->ts->vvec + 64 * r, n)) from(t, g->vec[r]);
}

static void from_registers(struct tk *t, const struct ip_origins *g) {
    const struct ip_insn *in = t->in;
    const struct tstate *ts = t->ts;
    unsigned r;
    for (u64 m = in->gpr_read & (u16)(ts->umask >> IP_U_GPR0); next_bit(&m, &r);)
        if (ts->vgpr[r]) from(t, g->gpr[r]);
    for (u64 m = in->mmx_read; next_bit(&m, &r);)
        if (ts->vmmx[r]) from(t, g->mmx[r]);
    for (u64 m = in->k_read; next_bit(&m, &r);)
        if (ts->vk[r]) from(t, g->k[r]);
    if ((in->fl_read & IP_FL_ARITH) && ts->vflags) from(t, g->flags);
}

static u32 *x87_tag(struct tk *t, unsigned r) {
    struct ip_origins *g = origin_tags(t->ts);
    return r == TK_X87_FSW ? &g->fsw : &g->mmx[r];
}

void origin_from_x87(struct tk *t, unsigned r) { from(t, *x87_tag(t, r)); }

void origin_to_x87(struct tk *t, unsigned r) {
    if (t->origin) *x87_tag(t, r) = t->origin;
}

void origin_only_x87(struct tk *t, unsigned r) { t->origin = origin_newer(0, *x87_tag(t, r)); }

void origin_only_vec(struct tk *t, unsigned r) { t->origin = origin_newer(0, origin_tags(t->ts)->vec[r]); }

void origin_only_k(struct tk *t, unsigned r) { t->origin = origin_newer(0, origin_tags(t->ts)->k[r]); }

void origin_only_element(struct tk *t, u64 at, u64 n) {
    t->origin = 0;
    from_memory(t, at, n);
}

void origin_to_vec(struct tk *t, unsigned r) { origin_tags(t->ts)->vec[r] = t->origin; }

void origin_to_k(struct tk *t, unsigned r) { origin_tags(t->ts)->k[r] = t->origin; }

static bool masked_move(const struct ip_insn *in) {
    const struct vec_rule *r = track_vec_rule(in->mnem);
    return r && r->cls == V_MASKMOVE;
}

/* A gather, or a load under a mask: what is left out is no input, and what is taken tells its origin then
 * (origin_from_elements). */
static bool loads_elements(const struct ip_insn *in) {
    return in->mem.vsib || (in->evex_k && (in->mem.access & IP_ACC_COND)) || masked_move(in);
}

void origin_begin(struct tk *t) {
    const struct ip_insn *in = t->in;
    const struct ip_origins *g = origin_tags(t->ts);
    bool vectors = in->vec_read & (u32)(t->ts->umask >> IP_U_VEC0);
    u32 regs = 0;
    unsigned low = vectors ? low_element(in, &regs) : 0;
    u64 n;
    t->origin = 0;
    from_registers(t, g);
    u32 kept = vectors && !low ? overwritten(t) : 0;
    if (vectors) from_vectors(t, g, low ? regs : in->vec_read & ~kept, low ? low : 64);
    if (in->mem.present && (in->mem.access & IP_ACC_R) && !loads_elements(in) && in->mem.size <= 64)
        from_memory(t, tk_ea_raw(t), tk_mem_size(in));
    for (unsigned i = 0; i < in->n_ops; i++) {
        if (in->ops[i].kind != IP_OP_MEM_IMPL || !(in->ops[i].access & IP_ACC_R)) continue;
        u64 at = implicit(t, i, false, &n), bad;
        if (rt_shadow_undef(at, n, &bad)) from(t, origin_of_memory(t->ts, bad));
    }
    if (low && !t->origin) from_vectors(t, g, in->vec_read, 64);
}

/* A scatter or a masked store: what it leaves alone keeps its origin, and what it stores has got one already
 * (origin_to_elements). */
static bool by_elements(const struct ip_insn *in) { return in->mem.vsib || in->evex_k || masked_move(in); }

void origin_end(struct tk *t) {
    const struct ip_insn *in = t->in;
    struct tstate *ts = t->ts;
    struct ip_origins *g = origin_tags(ts);
    u64 n;
    if (!t->origin) return;
    unsigned r;
    for (u64 m = in->gpr_write; next_bit(&m, &r);)
        if (ts->vgpr[r]) g->gpr[r] = t->origin;
    for (u64 m = in->vec_write; next_bit(&m, &r);) g->vec[r] = t->origin;
    for (u64 m = in->mmx_write; next_bit(&m, &r);) g->mmx[r] = t->origin;
    for (u64 m = in->k_write; next_bit(&m, &r);) g->k[r] = t->origin;
    if (in->fl_write & IP_FL_ARITH) g->flags = t->origin;
    if (in->mem.present && (in->mem.access & IP_ACC_W) && !by_elements(in) && in->mem.size <= 64)
        tag_memory(ts, tk_ea_raw(t), tk_mem_size(in), t->origin);
    for (unsigned i = 0; i < in->n_ops; i++) {
        if (in->ops[i].kind != IP_OP_MEM_IMPL || !(in->ops[i].access & IP_ACC_W)) continue;
        u64 at = implicit(t, i, true, &n);
        tag_memory(ts, at, n, t->origin);
    }
}

/* Paths: blocks that follow one another under one call stack, written as one run of one definition.
 *
 * A run costs 11 bytes of the file, and a definition may have 255 instructions.  So each block is the root of a tree of
 * paths that begin with it.  Where a path was left often enough with the same next block, it grows by that block's own
 * path: once what this would have spared has the size of the definition.  That is at most twice the bytes that the
 * best choice would have taken, whatever the program does.  The more there are, the more must be won: where nothing
 * repeats, paths would become so many that each is found in no cache.  A run of the beginning of a path takes the
 * definition of a longer one.
 *
 * A path stays in one function and under one call stack; a block that a jump has left early is a part of it, too.
 */
#include "tools/datagrind/client/frames.h"

#define PIECE        (256u << 10)
#define MOST_NODES   (1u << 19)
#define MOST_WAYS    8    /* in which a path may go on */
#define DEARER       1024 /* so many nodes more, and growth costs once more what it did at first */
#define ROOT_BITS    11   /* of them, those that are looked at often: their places stay in the cache */
#define HEAD         11
#define INSN_BYTES   9
#define ACCESS_BYTES 3

struct dg_piece {
    struct dg_piece *next;
};

void dg_forget_paths(struct dg_thread *t) {
    for (struct dg_piece *p = t->pieces, *next; p; p = next) {
        next = p->next;
        rt_free_pages(p, PIECE);
    }
    if (t->roots) rt_free_pages(t->roots, DG_TEMPLATES * sizeof *t->roots);
    t->roots = rt_pages(DG_TEMPLATES * sizeof *t->roots);
    if (!t->known_roots) t->known_roots = rt_pages(sizeof *t->known_roots << ROOT_BITS);
    memset(t->known_roots, 0, sizeof *t->known_roots << ROOT_BITS);
    t->pieces = NULL;
    t->room = t->room_end = NULL;
    t->n_nodes = 0;
    t->recent_bytes = 0;
    t->none = (struct dg_node){0};
    t->ended = &t->none;
}

void *dg_room(struct dg_thread *t, u64 bytes, u64 align) {
    if (bytes > PIECE / 4) return NULL;
    t->room = (u8 *)RT_ROUND_UP((u64)t->room, align);
    if (t->room > t->room_end || (u64)(t->room_end - t->room) < bytes) {
        struct dg_piece *p = rt_pages(PIECE);
        p->next = t->pieces;
        t->pieces = p;
        t->room = (u8 *)RT_ROUND_UP((u64)(p + 1), align);
        t->room_end = (u8 *)p + PIECE;
    }
    t->room += bytes;
    return t->room - bytes;
}

/* Of the plan's first operands, what dg_node.special says. */
static u16 special_of(const struct dg_plan *p, u32 n_ops) {
    u32 first = p->n_special ? p->special[0] : n_ops;
    if (first >= n_ops) return 0;
    bool alone = p->n_special == 1 || p->special[1] >= n_ops;
    return alone && p->ops[first].flags == DG_OP_FS ? (u16)(1 + first) : DG_SPECIAL;
}

/* Of the block's instructions, those that were completed. */
static struct dg_node *node_of(struct dg_thread *t, const struct dg_plan *p, u64 head) {
    struct dg_node *n = dg_room(t, sizeof *n, __alignof__(*n));
    u32 done = tr_completed(head);
    *n = (struct dg_node){.head = head,
                          .plan = p,
                          .ret = p->next,
                          .ret_mixed = dg_mix(p->next),
                          .end = p->end,
                          .ops = p->ops,
                          .n_insns = (u16)done,
                          .n_ops = p->ops_upto[done - 1],
                          .lo = p->lo,
                          .hi = p->hi};
    n->plain = p->n_plain >= n->n_ops;
    n->special = special_of(p, n->n_ops);
    n->whole = done <= p->segments[0].n_insns && !p->segments[0].rep_alone && !p->segments[0].some;
    n->leaves = done == p->n_insns && p->sp_word != ~0u;
    if (n->leaves) n->sp_word = (u8)(1 + p->sp_word), n->sp_disp = (int32_t)p->sp_disp;
    n->insns = n->n_insns;
    n->accesses = n->n_ops;
    t->n_nodes++;
    return n;
}

static struct dg_node *find_root(struct dg_thread *t, u64 head) {
    struct dg_node **first = &t->roots[dg_template(head)], *n = *first;
    while (n && n->head != head) n = n->sibling;
    if (n) return n;
    n = node_of(t, dg_plan((u32)head), head);
    n->sibling = *first;
    *first = n;
    if (n->whole) return n;
    for (const struct dg_node *o = n->sibling; o; o = o->sibling)
        if (o->defs) n->defs = o->defs;
    if (n->defs) return n;
    n->defs = dg_room(t, n->plan->n_segments * sizeof *n->defs, __alignof__(*n->defs));
    dg_lock();
    dg_plan_define(n->plan, n->defs);
    dg_unlock();
    return n;
}

struct dg_node *dg_root(struct dg_thread *t, u64 head) {
    struct dg_root_seen *place = &t->known_roots[(head * DG_BASE) >> (64 - ROOT_BITS)];
    if (place->head != head) *place = (struct dg_root_seen){head, find_root(t, head)};
    return place->root;
}

struct dg_def *dg_some_def(struct dg_thread *t, struct dg_node *n, u32 segment, u64 made) {
    struct dg_some **first = &n->defs[segment].some, *d = *first;
    while (d && d->made != made) d = d->next;
    if (d) return &d->def;
    d = dg_room(t, sizeof *d, __alignof__(*d));
    *d = (struct dg_some){.def = {.recent = d->def.first, .mask = 1}, .made = made, .next = *first};
    dg_lock();
    d->def.bbdef = dg_plan_define_some(n->plan, &n->plan->segments[segment], made);
    dg_unlock();
    *first = d;
    return &d->def;
}

/* ---- Growth ---------------------------------------------------------------------------- */

static struct dg_node *child_of(struct dg_node *n, u64 head) {
    struct dg_node *c = n->child;
    while (c && c->head != head) c = c->sibling;
    return c;
}

/* What follows must be in the same function: a definition should not cross its boundaries. */
static bool goes_on(const struct dg_node *n, const struct dg_node *with) {
    const struct ip_tr_insn *last = &tr_insns(n->plan->block)[n->n_insns - 1], *first = tr_insns(with->plan->block);
    return n->insns + with->n_insns <= DG_ITEMS && n->accesses + with->n_ops <= DG_ITEMS &&
           (dg_same_function(last, first) || (first->pc >= n->lo && first->pc < n->hi));
}

static struct dg_node *add(struct dg_thread *t, struct dg_node *n, const struct dg_node *with) {
    struct dg_node *c = child_of(n, with->head);
    if (!c) {
        c = node_of(t, with->plan, with->head);
        c->parent = n;
        c->sibling = n->child;
        n->child = c;
        c->insns = (u16)(n->insns + c->n_insns);
        c->accesses = (u16)(n->accesses + c->n_ops);
        if (n->lo < c->lo) c->lo = n->lo;
        if (n->hi > c->hi) c->hi = n->hi;
    }
    n->next = c;
    n->next_head = c->head;
    return c;
}

/* The path goes on as it does from there alone, as far as there is room. */
static struct dg_node *grow(struct dg_thread *t, struct dg_node *n, const struct dg_node *from) {
    struct dg_node *first = add(t, n, from);
    const struct dg_node *end = n; /* it may be its own continuation */
    for (n = first; from != end && !from->leaves && from->next && goes_on(n, from->next); from = from->next)
        n = add(t, n, from->next);
    return first;
}

static u32 n_children(const struct dg_node *n) {
    u32 count = 0;
    for (const struct dg_node *c = n->child; c; c = c->sibling) count++;
    return count;
}

struct dg_node *dg_turn(struct dg_thread *t, struct dg_node *n, u64 head) {
    struct dg_node *c = child_of(n, head);
    if (c) {
        n->next = c;
        n->next_head = head;
        return c;
    }
    if ((u32)head < IP_TR_EVENTS || tr_completed(head) == 0 || n->insns >= DG_ITEMS || t->n_nodes > MOST_NODES)
        return NULL;
    if (n->missed != head) {
        if (n->credit > HEAD) {
            n->credit -= HEAD;
            return NULL;
        }
        n->missed = head;
        n->credit = 0;
    }
    n->credit += HEAD;
    u32 least = n->insns * INSN_BYTES + n->accesses * ACCESS_BYTES + 8 * (t->n_frames < 32 ? t->n_frames : 32);
    if (n->credit < least * (1 + t->n_nodes / DEARER)) return NULL;
    struct dg_node *from = dg_root(t, head);
    n->credit = 0;
    if (!from->whole || !goes_on(n, from) || n_children(n) >= MOST_WAYS) return NULL;
    return grow(t, n, from);
}

/* ---- Definitions ----------------------------------------------------------------------- */

/* Does the definition of n hold all of the last block of a path that differs from it in how far that has run? */
static bool covers(const struct dg_node *n, const struct dg_node *other) {
    return n->plan == other->plan && n->def && (n->def->leaf == n || n->n_insns >= other->n_insns);
}

static u8 *put_insns(u8 *to, const struct dg_node *n, u32 n_insns) {
    const struct ip_tr_insn *insns = tr_insns(n->plan->block);
    if (n->parent) to = put_insns(to, n->parent, n->parent->n_insns);
    for (u32 i = 0; i < n_insns; i++, to += INSN_BYTES) {
        __builtin_memcpy(to, &insns[i].pc, 8);
        to[8] = insns[i].len;
    }
    return to;
}

static u8 *put_accesses(u8 *to, const struct dg_node *n, u32 n_ops) {
    const struct dg_plan *p = n->plan;
    if (n->parent) to = put_accesses(to, n->parent, n->parent->n_ops);
    for (u32 i = 0; i < n_ops; i++) {
        *to++ = p->writes[i];
        *to++ = p->sizes[i];
        *to++ = (u8)(n->insns - n->n_insns + p->insn_of[i]);
    }
    return to;
}

/* All of the last block that may be a part of a path, if there is room: it may run further the next time. */
static struct dg_def define(const struct dg_node *n) {
    struct dg_def d = {.bbdef = dg.n_bbdefs++, .leaf = n, .mask = 1};
    u32 last = n->plan->segments[0].n_insns, insns = n->insns - n->n_insns + last;
    u64 ops = n->plan->segments[0].n_ops, accesses = n->accesses - n->n_ops + ops;
    if (insns > DG_ITEMS || accesses > DG_ITEMS) {
        insns = n->insns, last = n->n_insns;
        accesses = n->accesses, ops = n->n_ops;
        d.leaf = NULL;
    }
    u8 *to = dg_definition(DG_BBDEF, 1 + 8 + (u64)insns * INSN_BYTES + accesses * ACCESS_BYTES);
    *to++ = (u8)insns;
    __builtin_memcpy(to, &accesses, 8);
    put_accesses(put_insns(to + 8, n, last), n, (u32)ops);
    return d;
}

struct dg_def *dg_define(struct dg_thread *t, struct dg_node *n) {
    struct dg_node *other = n->parent ? n->parent->child : t->roots[dg_template(n->head)];
    for (; other; other = other->sibling)
        if (covers(other, n)) return n->def = other->def;
    struct dg_node *leaf = n;
    while (!leaf->def && leaf->next) leaf = leaf->next;
    struct dg_def *d = leaf->def;
    if (d) {
        leaf = leaf->parent;
    } else {
        d = dg_room(t, sizeof *d, __alignof__(*d));
        dg_lock();
        *d = define(leaf);
        dg_unlock();
        d->recent = d->first;
    }
    for (; leaf && !leaf->def; leaf = leaf->parent) leaf->def = d;
    return d;
}

/* Call stacks as a tree, and contexts: a block definition run with one of them.
 *
 * A node is a return address below a caller's node; a stack longer than a context may be is that of its innermost
 * addresses, so the tree has a bounded depth, and what recurs below it finds the same nodes again.  When nodes or
 * contexts have become many, all are forgotten: threads find their own nodes again by their frames, and a context that
 * comes again is written again.  Numbers of nodes are never used twice, so what anybody remembers of old ones meets
 * nothing.
 */
#include "tools/datagrind/client/datagrind.h"

#define MOST_NODES    (1u << 21)
#define MOST_CONTEXTS (1u << 22)
#define CALLERS       (DG_STACK - 1)

static struct dg_node *nodes; /* [number - dg.root] */
static u32 n_nodes, cap_nodes;
static u32 *by_caller; /* hash table: number of a node, 0 none */
static u32 cap_by_caller;
static struct dg_pair *known; /* hash table of contexts: key 0 none */
static u64 cap_known, n_known;

static u64 mix(u64 x) {
    x *= 0x9e3779b97f4a7c15ull;
    return x ^ x >> 32;
}

static struct dg_node *node(u32 number) { return &nodes[number - dg.root]; }

static u64 hash_of(u32 caller, u64 ret) { return mix(ret ^ mix(caller)); }

static void grow_table(void) {
    if (by_caller) rt_free_pages(by_caller, cap_by_caller * sizeof *by_caller);
    cap_by_caller = cap_nodes * 2;
    by_caller = rt_pages(cap_by_caller * sizeof *by_caller);
    for (u32 i = 1; i < n_nodes; i++) {
        u32 k = (u32)hash_of(nodes[i].caller, nodes[i].ret) & (cap_by_caller - 1);
        while (by_caller[k]) k = (k + 1) & (cap_by_caller - 1);
        by_caller[k] = dg.root + i;
    }
}

static void grow_nodes(void) {
    u32 cap = cap_nodes ? cap_nodes * 2 : 4096;
    struct dg_node *more = rt_pages(cap * sizeof *more);
    if (nodes) {
        rt_memcpy(more, nodes, n_nodes * sizeof *nodes);
        rt_free_pages(nodes, cap_nodes * sizeof *nodes);
    }
    nodes = more;
    cap_nodes = cap;
    grow_table();
}

static void forget_nodes(void) {
    dg.root += n_nodes;
    dg.epoch++;
    n_nodes = 1;
    rt_memset(nodes, 0, sizeof *nodes);
    rt_memset(by_caller, 0, cap_by_caller * sizeof *by_caller);
}

static void forget_contexts(void) {
    if (known) rt_free_pages(known, cap_known * sizeof *known);
    known = NULL;
    cap_known = n_known = 0;
}

void dg_stacks_start(void) {
    dg.root = 1;
    n_nodes = 1;
    grow_nodes();
}

void dg_new_file(void) {
    dg.n_bbdefs = 0;
    dg.n_contexts = 0;
    dg.file++;
    forget_contexts();
}

/* The node of a caller that has room for one more address, and that address. */
static u32 child_of(u32 caller, u64 ret) {
    u32 k = (u32)hash_of(caller, ret) & (cap_by_caller - 1);
    for (; by_caller[k]; k = (k + 1) & (cap_by_caller - 1)) {
        const struct dg_node *n = node(by_caller[k]);
        if (n->caller == caller && n->ret == ret) return by_caller[k];
    }
    u32 number = dg.root + n_nodes;
    by_caller[k] = number;
    nodes[n_nodes++] = (struct dg_node){.ret = ret, .caller = caller, .depth = node(caller)->depth + 1};
    if (n_nodes == cap_nodes) grow_nodes();
    return number;
}

/* The same stack without its outermost address. */
static u32 without_outermost(u32 number) {
    u32 way[CALLERS], n = 0;
    while (!node(number)->suffix) {
        if (node(number)->depth == 1) {
            node(number)->suffix = dg.root;
            break;
        }
        way[n++] = number;
        number = node(number)->caller;
    }
    u32 shorter = node(number)->suffix;
    while (n > 0) {
        number = way[--n];
        shorter = child_of(shorter, node(number)->ret);
        node(number)->suffix = shorter;
    }
    return shorter;
}

u32 dg_child(u32 caller, u64 ret) {
    return child_of(node(caller)->depth < CALLERS ? caller : without_outermost(caller), ret);
}

void dg_find_again(struct dg_thread *t) {
    if (n_nodes > MOST_NODES) forget_nodes();
    if (t->epoch == dg.epoch) return;
    u32 at = dg.root;
    for (u32 i = 0; i < t->n_frames; i++) {
        if (n_nodes > MOST_NODES) break; /* more frames than nodes */
        t->frames[i].caller = at;
        at = dg_child(at, t->frames[i].ret);
    }
    t->node = at;
    t->epoch = dg.epoch;
}

u32 dg_callers(u32 number, u64 *ips, u32 most) {
    u32 n = 0;
    for (; n < most && node(number)->depth; number = node(number)->caller) ips[n++] = node(number)->ret - 1;
    return n;
}

static void grow_known(void) {
    u64 cap = cap_known ? cap_known * 2 : 16384;
    struct dg_pair *more = rt_pages(cap * sizeof *more);
    for (u64 i = 0; i < cap_known; i++) {
        if (!known[i].key) continue;
        u64 k = mix(known[i].key) & (cap - 1);
        while (more[k].key) k = (k + 1) & (cap - 1);
        more[k] = known[i];
    }
    if (known) rt_free_pages(known, cap_known * sizeof *known);
    known = more;
    cap_known = cap;
}

u64 dg_context(u32 number, const struct dg_segment *s, u64 pc) {
    u64 key = (u64)s->bbdef << 32 | number;
    if (n_known > MOST_CONTEXTS) forget_contexts();
    if (n_known * 2 >= cap_known) grow_known();
    u64 k = mix(key) & (cap_known - 1);
    for (; known[k].key; k = (k + 1) & (cap_known - 1))
        if (known[k].key == key) return known[k].value;
    u32 depth = node(number)->depth;
    u64 word = s->bbdef, ips[CALLERS];
    u8 *to = dg_definition(DG_CONTEXT, 8 + 1 + (1 + (u64)depth) * 8);
    __builtin_memcpy(to, &word, 8);
    to[8] = (u8)(1 + depth);
    __builtin_memcpy(to + 9, &pc, 8);
    dg_callers(number, ips, CALLERS);
    rt_memcpy(to + 17, ips, depth * 8ull);
    known[k] = (struct dg_pair){key, dg.n_contexts};
    n_known++;
    return dg.n_contexts++;
}

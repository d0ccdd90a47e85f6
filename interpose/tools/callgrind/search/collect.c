/* Callgrind's tables in the client, read and summed up: see collect.h. */
#include "collect.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/meta.h"
#include "abi/space.h"
#include "abi/tstate.h"
#include "jit/keysort.h"
#include "jit/native_api.h"
#include "taking.h"
#include "tools/callgrind/callgrind_abi.h"

/* ---- The client's memory ------------------------------------------------------------------- */

int cg_read_all(int mem, void *to, uint64_t bytes, uint64_t from) {
    uint64_t done = 0;
    while (done < bytes) {
        ssize_t n = pread(mem, (uint8_t *)to + done, bytes - done, (off_t)(from + done));
        if (n <= 0) return -1;
        done += (uint64_t)n;
    }
    return 0;
}

static int make_room(struct memory *m) {
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : 64;
        struct piece *more = realloc(m->pieces, room * sizeof *more);
        if (!more) return -1;
        m->pieces = more;
        m->room = room;
    }
    return 0;
}

static int add_piece(struct memory *m, int mem, uint64_t at, uint64_t bytes) {
    if (make_room(m) < 0) return -1;
    uint8_t *copy = malloc(bytes ? bytes : 1);
    if (!copy) return -1;
    if (cg_read_all(mem, copy, bytes, at) < 0) {
        free(copy);
        return -1;
    }
    m->pieces[m->n++] = (struct piece){at, bytes, copy, 0};
    return 0;
}

static int by_address(const void *a, const void *b) {
    uint64_t x = ((const struct piece *)a)->at, y = ((const struct piece *)b)->at;
    return x < y ? -1 : x > y;
}

void *cg_at(struct memory *m, const void *client, uint64_t bytes) {
    uint64_t addr = (uint64_t)client;
    const struct piece *p = m->pieces + m->last;
    if (addr < p->at || addr - p->at >= p->bytes) {
        size_t lo = 0, hi = m->n;
        while (lo < hi) {
            size_t mid = (lo + hi) / 2;
            if (m->pieces[mid].at <= addr)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (!lo) return NULL;
        m->last = lo - 1;
        p = m->pieces + m->last;
    }
    return addr - p->at < p->bytes && bytes <= p->bytes - (addr - p->at) ? p->copy + (addr - p->at) : NULL;
}

static void forget(struct memory *m) {
    for (size_t i = 0; i < m->n; i++)
        if (!m->pieces[i].is_shared) free(m->pieces[i].copy);
    free(m->pieces);
    free(m->late);
    free(m->placed);
    free(m->table);
    free(m->spans);
    memset(m, 0, sizeof *m);
}

static int read_chunks(struct memory *m, int mem, const struct cg_thread *t) {
    struct cg_chunk chunk;
    for (uint64_t a = (uint64_t)t->chunks; a; a = (uint64_t)chunk.next)
        if (cg_read_all(mem, &chunk, sizeof chunk, a) < 0 || add_piece(m, mem, a, chunk.used) < 0) return -1;
    return 0;
}

/* The client cannot write to them, and none changes any more. */
static int find_templates(struct memory *m) {
    uint8_t *templates = ip_trace_templates(&m->template_bytes, &m->words);
    if (!templates || make_room(m) < 0) return -1;
    m->pieces[m->n++] = (struct piece){IP_TRACE_BASE, m->template_bytes, templates, 1};
    return 0;
}

/* ---- Names ------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return h ^ h >> 29;
}

static uint64_t name_hash(const struct cg_name *n) {
    return mix(n->entry ^ (uint64_t)n->caller << 40, n->function | (uint64_t)n->level << 32);
}

static int rehash(struct names *n, uint64_t size) {
    uint32_t *hash = calloc(size, sizeof *hash);
    if (!hash) return -1;
    for (uint64_t i = 0; i < n->t->n_names; i++) {
        uint64_t h = name_hash(&n->t->names[i]);
        while (hash[h & (size - 1)]) h++;
        hash[h & (size - 1)] = (uint32_t)i + 1;
    }
    free(n->hash);
    n->hash = hash;
    n->hash_size = size;
    return 0;
}

static int begin_names(struct names *n, struct cg_taken *t) {
    n->t = t;
    n->room = t->n_names;
    n->hash = NULL;
    uint64_t size = 1024;
    while (size < 4 * t->n_names) size *= 2;
    return rehash(n, size);
}

uint32_t cg_name_number(struct names *n, struct cg_name name) {
    uint64_t h = name_hash(&name);
    for (; n->hash[h & (n->hash_size - 1)]; h++) {
        uint32_t i = n->hash[h & (n->hash_size - 1)];
        if (memcmp(&n->t->names[i - 1], &name, sizeof name) == 0) return i;
    }
    if (n->t->n_names == n->room) {
        n->room = n->room ? 2 * n->room : 1024;
        struct cg_name *more = realloc(n->t->names, n->room * sizeof *more);
        if (!more) return 0;
        n->t->names = more;
    }
    n->t->names[n->t->n_names++] = name;
    n->hash[h & (n->hash_size - 1)] = (uint32_t)n->t->n_names;
    if (2 * n->t->n_names > n->hash_size && rehash(n, 2 * n->hash_size) < 0) return 0;
    return (uint32_t)n->t->n_names;
}

static uint32_t family_number(struct names *n, struct memory *m, const struct cg_family *y, uint32_t level, int depth) {
    const struct cg_function *f = y ? cg_at(m, y->function, sizeof *f) : NULL;
    if (!f || depth > 64) return 0;
    struct cg_name name = {.function = f->number, .level = level};
    if (!f->number || f->number & CG_F_UNKNOWN) name.entry = f->entry;
    if (y->caller) name.caller = family_number(n, m, cg_at(m, y->caller, sizeof *y), 0, depth + 1);
    return cg_name_number(n, name);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

uint64_t *cg_add_row(struct sink *s, struct cg_row row) {
    struct cg_taken *t = s->t;
    if (t->n_rows == s->room) {
        s->room = s->room ? 2 * s->room : 1 << 14;
        uint8_t *more = realloc(t->rows, s->room * t->row_bytes);
        if (!more) {
            s->failed = 1;
            s->room = t->n_rows;
            return NULL;
        }
        t->rows = more;
    }
    struct cg_row *r = (struct cg_row *)(t->rows + t->n_rows++ * t->row_bytes);
    *r = row;
    uint64_t *cost = (uint64_t *)(r + 1);
    memset(cost, 0, s->n_events * sizeof *cost);
    return cost;
}

struct owner {
    uint32_t context;
    uint64_t site; /* all costs are those of this address; 0: each has its own */
};

static void add_jumps(struct sink *s, const struct owner *o, const struct cg_counter *c, const struct ip_tr_insn *insn,
                      const uint64_t *reached) {
    for (uint32_t i = 0; i < c->n; i++) {
        struct cg_row row = {.context = o->context, .pc = insn[i].pc, .target = insn[i].target, .count = reached[i]};
        if (!row.count) continue;
        if (insn[i].kind == IP_TR_COND_JUMP) {
            row.kind = CG_COND_JUMPS;
            row.followed = i + 1 < c->n ? c->runs[i + 1] : c->taken;
        } else if (insn[i].kind == IP_TR_DIRECT_JUMP) {
            row.kind = CG_JUMPS;
        } else {
            continue;
        }
        cg_add_row(s, row);
    }
}

static void add_calls(struct sink *s, struct names *n, struct memory *m, const struct owner *o,
                      const struct cg_counter *c, const struct ip_tr_insn *insn) {
    const struct cg_call *call;
    for (const struct cg_call *a = c->calls; a && (call = cg_at(m, a, sizeof *call + (s->n_events - 1) * 8));
         a = call->next) {
        if (call->insn >= c->n) continue;
        struct cg_row row = {.context = o->context,
                             .pc = o->site ? o->site : insn[call->insn].pc,
                             .target = call->entry,
                             .count = call->count};
        if (call->flags & CG_JUMP) {
            /* A repeated string instruction jumps to itself. */
            row.kind = insn[call->insn].rep ? CG_COND_JUMPS : CG_JUMPS;
            row.followed = call->cost[0];
            if (!o->site) cg_add_row(s, row);
            continue;
        }
        const struct cg_context *callee = cg_at(m, call->callee, sizeof *callee);
        if (!callee || callee->caller) continue;
        uint64_t any = call->count;
        for (uint32_t k = 0; k < s->n_events; k++) any |= call->cost[k];
        if (!any) continue;
        row.kind = CG_CALLS;
        row.callee = family_number(n, m, cg_at(m, callee->family, sizeof(struct cg_family)), callee->level, 0);
        if (!row.callee) continue; /* made after its table was copied */
        uint64_t *cost = cg_add_row(s, row);
        if (cost) memcpy(cost, call->cost, s->n_events * sizeof *cost);
    }
}

/* What each completed instruction costs beside one Ir, and the branches that were not predicted. */
static int add_costs(uint64_t *cost, struct memory *m, const struct cg_counter *c, const uint64_t *reached,
                     uint32_t n_events) {
    const struct cg_costs *head = cg_at(m, c->costs, sizeof *head);
    if (!head) return -1;
    uint32_t n = head->n_fixed + head->n_branches;
    const struct cg_costs *costs = cg_at(m, c->costs, sizeof *costs + n * sizeof costs->cost[0]);
    const uint64_t *missed = cg_at(m, c->missed, head->n_branches * sizeof *missed);
    if (!costs || (head->n_branches && !missed)) return -1;
    for (uint32_t k = 0; k < n; k++) {
        const struct cg_cost *one = &costs->cost[k];
        if (one->insn >= c->n || one->place >= n_events) return -1;
        uint64_t by = k < costs->n_fixed ? reached[one->insn] * one->n : missed[k - costs->n_fixed];
        cost[one->insn * n_events + one->place] += by;
    }
    return 0;
}

static void add_counter(struct sink *s, struct names *n, struct memory *m, const struct owner *o,
                        const struct cg_counter *c, int jumps) {
    const struct ip_tr_block *b = cg_at(m, c->block, sizeof *b);
    if (!b || b->n_insns != c->n) return;
    const struct ip_tr_insn *insn = cg_at(m, c->block + 1, c->n * sizeof *insn);
    if (!insn) return;
    uint64_t reached[c->n + 1], runs[c->n + 1], sum = 0; /* the stack may be small (ulimit -s) */
    memcpy(runs, c->runs, (c->n + 1) * sizeof *runs);
    const uint64_t *counts = c->counts ? cg_at(m, c->counts, b->n_words * sizeof *counts) : NULL;
    if (counts) cg_unfold(counts, b, insn, runs);
    for (uint32_t i = c->n; i-- > 0;) reached[i] = sum += runs[i + 1];
    const uint64_t *extra = c->extra ? cg_at(m, c->extra, c->n * s->n_events * sizeof *extra) : NULL;
    s->t->n_blocks += sum + runs[0] + cg_inner_blocks(insn, c->n, reached);
    for (uint32_t i = 0; extra && i < c->n; i++)
        if (insn[i].rep) s->t->n_blocks += extra[i * s->n_events];
    uint64_t *costs = NULL;
    if (extra || c->costs) {
        costs = calloc(c->n, s->n_events * sizeof *costs);
        if (!costs) {
            s->failed = 1;
            return;
        }
        if (extra) memcpy(costs, extra, c->n * s->n_events * sizeof *costs);
        if (c->costs) add_costs(costs, m, c, reached, s->n_events);
    }
    for (uint32_t i = 0; i < c->n; i++) {
        if (!reached[i] && !extra) continue;
        struct cg_row row = {.kind = CG_COST, .context = o->context, .pc = o->site ? o->site : insn[i].pc};
        uint64_t *cost = cg_add_row(s, row);
        if (!cost) break;
        cost[0] = reached[i];
        for (uint32_t k = 0; costs && k < s->n_events; k++) cost[k] += costs[i * s->n_events + k];
    }
    free(costs);
    if (jumps && !o->site) add_jumps(s, o, c, insn, reached);
    add_calls(s, n, m, o, c, insn);
}

static void add_thread(struct sink *s, struct names *n, struct memory *m, int mem, const struct cg_thread *t,
                       int jumps) {
    const struct cg_context *x;
    for (const struct cg_context *a = t->contexts; a && (x = cg_at(m, a, sizeof *x)); a = x->next) {
        const struct cg_context *owner = x->caller ? cg_at(m, x->caller, sizeof *owner) : x;
        if (!owner) continue;
        struct owner o = {family_number(n, m, cg_at(m, owner->family, sizeof(struct cg_family)), owner->level, 0),
                          x->caller ? x->site : 0};
        if (!o.context) continue;
        if (x->apart) cg_add_apart(s, n, m, mem, o.context, x);
        const struct cg_counter *c;
        for (const struct cg_counter *k = x->counters; k && (c = cg_at(m, k, sizeof *c)); k = c->next)
            if (cg_at(m, k, sizeof *c + c->n * sizeof c->runs[0])) add_counter(s, n, m, &o, c, jumps);
    }
}

/* Calls under way have cost what they have so far: add that to the copies of their records. */
static int end_calls(struct memory *m, int mem, const struct cg_thread *t, uint32_t n_events) {
    uint64_t total[CG_MAX_EVENTS], bytes = t->depth * t->frame_bytes;
    memcpy(total, t->total, sizeof total);
    uint8_t *frames = malloc(bytes + 1);
    if (!frames) return -1;
    if (cg_read_all(mem, frames, bytes, (uint64_t)t->frames) < 0) {
        free(frames);
        return 0; /* it has grown and moved meanwhile */
    }
    for (uint64_t d = t->depth; d-- > 0;) {
        const struct cg_frame *f = (const struct cg_frame *)(frames + d * t->frame_bytes);
        if (f->flags & CG_SIGNAL) {
            memcpy(total, f->began, n_events * sizeof *total);
        } else if (f->flags & CG_QUICK) {
            if (cg_add_late(m, (uint64_t)f->call + IP_CT_COUNT + 8, total[0] - f->began[0]) < 0) {
                free(frames);
                return -1;
            }
        } else if (f->call) {
            struct cg_call *call = cg_at(m, f->call, sizeof *call + (n_events - 1) * sizeof call->cost[0]);
            uint64_t any = 0;
            for (uint32_t i = 0; call && i < n_events; i++) {
                call->cost[i] += total[i] - f->began[i];
                any |= total[i] - f->began[i];
            }
            if (f->flags & CG_UNSEEN && any) call->count++; /* as its end would have it */
        }
    }
    free(frames);
    return 0;
}

static int compare(const void *a, const void *b) {
    const struct cg_row *x = a, *y = b;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    if (x->pc != y->pc) return x->pc < y->pc ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->callee != y->callee) return x->callee < y->callee ? -1 : 1;
    if (x->target != y->target) return x->target < y->target ? -1 : 1;
    return 0;
}

static struct cg_row *row_at(const struct cg_taken *t, uint64_t i) {
    return (struct cg_row *)(t->rows + i * t->row_bytes);
}

/* Put a row behind those that are there, or add it to the last of them if that is about the same. */
static void append(struct cg_taken *to, const struct cg_row *r, uint32_t n_events) {
    struct cg_row *last = to->n_rows ? row_at(to, to->n_rows - 1) : NULL;
    if (!last || compare(last, r) != 0) {
        memcpy(row_at(to, to->n_rows++), r, to->row_bytes);
        return;
    }
    last->count += r->count;
    last->followed += r->followed;
    uint64_t *sum = (uint64_t *)(last + 1);
    const uint64_t *more = (const uint64_t *)(r + 1);
    for (uint32_t k = 0; k < n_events; k++) sum[k] += more[k];
}

/* Rows that ascend as they are: those of a block. */
struct stretch {
    uint64_t first, n;
};

/* Sort the rows of n stretches in a place of their own, and append them. */
static int append_sorted(struct cg_taken *to, const struct cg_taken *t, const struct stretch *of, uint64_t n,
                         uint64_t rows, uint32_t n_events) {
    if (n == 2) { /* as a rule */
        for (uint64_t i = 0, j = 0; i < of[0].n || j < of[1].n;) {
            const struct cg_row *x = row_at(t, of[0].first + i), *y = row_at(t, of[1].first + j);
            int is_first = j == of[1].n || (i < of[0].n && compare(x, y) <= 0);
            append(to, is_first ? x : y, n_events);
            is_first ? i++ : j++;
        }
        return 0;
    }
    uint8_t *copy = malloc(rows * t->row_bytes), *at = copy;
    if (!copy) return -1;
    for (uint64_t i = 0; i < n; i++, at += of[i - 1].n * t->row_bytes)
        memcpy(at, row_at(t, of[i].first), of[i].n * t->row_bytes);
    qsort(copy, rows, t->row_bytes, compare);
    for (uint64_t i = 0; i < rows; i++) append(to, (const struct cg_row *)(copy + i * t->row_bytes), n_events);
    free(copy);
    return 0;
}

/* Find the stretches of rows, in order of their beginnings; how many, 0: no memory. */
static uint64_t find_stretches(const struct cg_taken *t, struct stretch **found) {
    struct ip_keyed *keys = malloc(2 * t->n_rows * sizeof *keys);
    struct stretch *stretches = malloc(2 * t->n_rows * sizeof *stretches), *sorted = stretches + t->n_rows;
    uint64_t n = 0;
    for (uint64_t i = 0, next; keys && stretches && i < t->n_rows; i = next) {
        for (next = i + 1; next < t->n_rows && compare(row_at(t, next - 1), row_at(t, next)) < 0; next++)
            if (row_at(t, next)->context != row_at(t, i)->context) break;
        stretches[n] = (struct stretch){i, next - i};
        keys[n] = (struct ip_keyed){row_at(t, i)->pc, n};
        n++;
    }
    if (n) {
        ip_sort_keyed(keys, n, keys + n);
        for (uint64_t i = 0; i < n; i++) keys[i].key = row_at(t, stretches[keys[i].item].first)->context;
        ip_sort_keyed(keys, n, keys + n);
        for (uint64_t i = 0; i < n; i++) sorted[i] = stretches[keys[i].item];
        memcpy(stretches, sorted, n * sizeof *stretches);
    }
    free(keys);
    *found = stretches;
    return n;
}

/* Sort the rows, and add up those that are about the same.  0, or -1: no memory. */
static int merge(struct cg_taken *t, uint32_t n_events) {
    if (!t->n_rows) return 0;
    struct stretch *stretches;
    struct cg_taken to = {.row_bytes = t->row_bytes, .rows = malloc(t->n_rows * t->row_bytes)};
    uint64_t n = find_stretches(t, &stretches);
    int result = n && to.rows ? 0 : -1;
    for (uint64_t i = 0, next; i < n && !result; i = next) {
        /* Stretches that overlap, such as blocks of which one begins within the other. */
        uint64_t rows = stretches[i].n;
        const struct cg_row *last = row_at(t, stretches[i].first + rows - 1);
        for (next = i + 1; next < n; next++) {
            const struct cg_row *r = row_at(t, stretches[next].first);
            if (r->context != last->context || r->pc > last->pc) break;
            rows += stretches[next].n;
            const struct cg_row *end = row_at(t, stretches[next].first + stretches[next].n - 1);
            if (end->pc > last->pc) last = end;
        }
        if (next > i + 1) {
            result = append_sorted(&to, t, stretches + i, next - i, rows, n_events);
        } else {
            memcpy(to.rows + to.n_rows * to.row_bytes, row_at(t, stretches[i].first), rows * to.row_bytes);
            to.n_rows += rows;
        }
    }
    free(stretches);
    free(t->rows);
    t->rows = to.rows;
    t->n_rows = result ? 0 : to.n_rows;
    return result;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

/* What is in the thread's state as long as it counts in line. */
static void read_state(int mem, struct cg_thread *t) {
    struct tstate ts;
    size_t from = offsetof(struct tstate, ct_base), to = offsetof(struct tstate, ct_pairs);
    if (!t->ts || cg_read_all(mem, (uint8_t *)&ts + from, to - from, t->ts + from) < 0) return;
    if (!(ts.ct_slow & IP_CT_FROZEN)) {
        t->total[0] = 0;
        for (int i = 0; i < IP_CT_TOTALS; i++) t->total[0] += ts.ct_total[i];
    }
    t->depth = (ts.ct_top + t->frame_bytes - (uint64_t)t->frames) / t->frame_bytes;
}

static int read_threads(struct memory *m, int mem, uint64_t root, uint32_t n_events, uint32_t tid,
                        struct cg_thread **threads, size_t *n) {
    struct cg_root r;
    struct cg_thread t;
    if (cg_read_all(mem, &r, sizeof r, root) < 0) return -1;
    for (uint64_t a = (uint64_t)r.threads; a; a = (uint64_t)t.next) {
        if (cg_read_all(mem, &t, sizeof t, a) < 0) return -1;
        if (tid && t.tid != tid) continue;
        read_state(mem, &t);
        struct cg_thread *more = realloc(*threads, (*n + 1) * sizeof *more);
        if (!more) return -1;
        *threads = more;
        more[(*n)++] = t;
        if (read_chunks(m, mem, &t) < 0) return -1;
    }
    if (find_templates(m) < 0) return -1;
    qsort(m->pieces, m->n, sizeof *m->pieces, by_address);
    for (size_t i = 0; i < *n; i++) {
        if (!m->blocks && (*threads)[i].levels[0] && cg_find_blocks(m) < 0) return -1;
        if (end_calls(m, mem, &(*threads)[i], n_events) < 0) return -1;
    }
    cg_sort_late(m);
    return 0;
}

int cg_take(struct cg_taken *t, int mem, int pagemap, uint64_t root, uint32_t n_events, uint32_t tid, int jumps) {
    struct memory m = {.pagemap = pagemap};
    struct names n = {0};
    struct cg_thread *threads = NULL;
    size_t count = 0;
    struct sink s = {.t = t, .n_events = n_events};
    t->n_rows = t->n_blocks = 0;
    t->row_bytes = sizeof(struct cg_row) + n_events * sizeof(uint64_t);
    int r = begin_names(&n, t);
    if (!r) r = read_threads(&m, mem, root, n_events, tid, &threads, &count);
    for (size_t i = 0; !r && i < count; i++) {
        add_thread(&s, &n, &m, mem, &threads[i], jumps);
        r = cg_add_levels(&s, &n, &m, mem, &threads[i]);
    }
    if (!r && !s.failed) r = merge(t, n_events);
    free(threads);
    free(n.hash);
    forget(&m);
    return r || s.failed ? -1 : 0;
}

void cg_subtract(struct cg_taken *now, const struct cg_taken *before, uint32_t n_events) {
    uint64_t kept = 0, j = 0;
    for (uint64_t i = 0; i < now->n_rows; i++) {
        struct cg_row *r = (struct cg_row *)(now->rows + i * now->row_bytes);
        const struct cg_row *old = NULL;
        while (j < before->n_rows) {
            old = (const struct cg_row *)(before->rows + j * before->row_bytes);
            if (compare(old, r) >= 0) break;
            j++;
            old = NULL;
        }
        uint64_t any = 0, *cost = (uint64_t *)(r + 1);
        if (old && compare(old, r) == 0) {
            const uint64_t *was = (const uint64_t *)(old + 1);
            r->count -= old->count;
            r->followed -= old->followed;
            for (uint32_t k = 0; k < n_events; k++) cost[k] -= was[k];
        }
        any = r->count;
        for (uint32_t k = 0; k < n_events; k++) any |= cost[k];
        if (any) memmove(now->rows + kept++ * now->row_bytes, r, now->row_bytes);
    }
    now->n_rows = kept;
    now->n_blocks -= before->n_blocks;
}

int cg_inherit(struct cg_taken *now, const struct cg_taken *before) {
    now->names = malloc((before->n_names + 1) * sizeof *now->names);
    if (!now->names) return -1;
    memcpy(now->names, before->names, before->n_names * sizeof *now->names);
    now->n_names = before->n_names;
    return 0;
}

void cg_totals(const struct cg_taken *t, uint32_t n_events, uint64_t *totals) {
    for (uint64_t i = 0; i < t->n_rows; i++) {
        const struct cg_row *r = (const struct cg_row *)(t->rows + i * t->row_bytes);
        const uint64_t *cost = (const uint64_t *)(r + 1);
        if (r->kind == CG_COST)
            for (uint32_t k = 0; k < n_events; k++) totals[k] += cost[k];
    }
}

uint8_t *cg_copy_rows(const struct cg_taken *t) {
    uint8_t *rows = malloc(t->n_rows * t->row_bytes + 1);
    if (rows && t->n_rows) memcpy(rows, t->rows, t->n_rows * t->row_bytes);
    return rows;
}

void cg_release(struct cg_taken *t) {
    free(t->rows);
    free(t->names);
    memset(t, 0, sizeof *t);
}

uint64_t cg_threads(int mem, uint64_t root, uint32_t *tids, uint64_t max) {
    struct cg_root r;
    struct cg_thread t;
    uint64_t n = 0;
    if (cg_read_all(mem, &r, sizeof r, root) < 0) return 0;
    for (uint64_t a = (uint64_t)r.threads; a && cg_read_all(mem, &t, sizeof t, a) == 0; a = (uint64_t)t.next)
        if (n < max) tids[n++] = t.tid;
    return n;
}

void cg_look_up(int mem, uint64_t root) {
    struct cg_root r;
    struct cg_thread t;
    uint32_t values[2]; /* ct_where, ct_slow */
    const uint64_t limit = 0;
    _Static_assert(offsetof(struct tstate, ct_slow) == offsetof(struct tstate, ct_where) + 4, "values");
    if (cg_read_all(mem, &r, sizeof r, root) < 0) return;
    for (uint64_t a = (uint64_t)r.threads; a && cg_read_all(mem, &t, sizeof t, a) == 0; a = (uint64_t)t.next) {
        uint64_t at = t.ts + offsetof(struct tstate, ct_where);
        if (!t.ts || cg_read_all(mem, values, sizeof values, at) < 0) continue;
        values[0] = IP_CT_ASKED;
        values[1] |= IP_CT_LOOK;
        if (pwrite(mem, values, sizeof values, (off_t)at) < 0) return;
        if (pwrite(mem, &limit, sizeof limit, (off_t)(t.ts + offsetof(struct tstate, ct_limit))) < 0) return;
    }
}

/* What the calls of a frame have cost, those under way included. */
static void frame_costs(int mem, const struct cg_thread *t, const struct cg_frame *f, uint32_t n_events,
                        uint64_t *costs) {
    if (!f->call || cg_read_all(mem, costs, n_events * sizeof *costs, (uint64_t)f->call + IP_CT_COUNT + 8) < 0)
        memset(costs, 0, n_events * sizeof *costs);
    for (uint32_t i = 0; i < n_events; i++) costs[i] += t->total[i] - f->began[i];
}

uint64_t cg_frames(int mem, uint64_t root, uint32_t n_events, uint32_t tid, struct cg_taken *names, struct cg_row *rows,
                   uint64_t *costs, uint64_t max) {
    struct memory m = {0};
    struct names n = {0};
    struct cg_thread *threads = NULL;
    size_t count = 0;
    uint64_t found = 0;
    if (begin_names(&n, names) == 0 && read_threads(&m, mem, root, n_events, tid, &threads, &count) == 0 && count) {
        const struct cg_thread *t = &threads[0];
        uint64_t bytes = t->depth * t->frame_bytes;
        uint8_t *frames = malloc(bytes + 1);
        if (frames && cg_read_all(mem, frames, bytes, (uint64_t)t->frames) == 0) {
            for (uint64_t d = 0; d < t->depth && found < max; d++) {
                const struct cg_frame *f = (const struct cg_frame *)(frames + d * t->frame_bytes);
                frame_costs(mem, t, f, n_events, costs + found * n_events);
                if (f->flags & CG_QUICK) {
                    const struct ip_tr_block *b = cg_at(&m, (const void *)(uint64_t)f->block, sizeof *b);
                    uint64_t counted = 0;
                    if (!b || cg_read_all(mem, &counted, sizeof counted, (uint64_t)f->call + IP_CT_COUNT) < 0) continue;
                    uint32_t level = (f->flags & CG_INNER) != 0;
                    rows[found++] = (struct cg_row){
                        .context = cg_name_number(&n, cg_name_of(b, level)), .pc = b->pc, .count = counted};
                    continue;
                }
                const struct cg_call *call = f->call ? cg_at(&m, f->call, sizeof *call) : NULL;
                const struct cg_context *x = call ? cg_at(&m, call->callee, sizeof *x) : NULL;
                if (!x) continue;
                rows[found++] = (struct cg_row){
                    .context = family_number(&n, &m, cg_at(&m, x->family, sizeof(struct cg_family)), x->level, 0),
                    .pc = call->entry,
                    .count = call->count,
                };
            }
        }
        free(frames);
    }
    free(threads);
    free(n.hash);
    forget(&m);
    return found;
}

/* Templates (abi/trace.h) made ready: what each run of a block writes, and the block's definitions in the file.
 *
 * A repeated string instruction has a definition of its own, with the accesses of as many iterations as one definition
 * may hold; its runs count one instruction each, and the last one gives fewer addresses.
 */
#include "tools/datagrind/client/datagrind.h"

_Static_assert(IP_TR_MAX_WORDS < 255, "an operand's words have one byte each");
_Static_assert(sizeof(struct ip_tr_block) >= DG_APART, "one template in each entry's bytes");
#define ARENA        (1ull << 20)
#define MOST_OPS     4096 /* of one template: 64 instructions, none with more than 2800 bytes */
#define MOST_INSNS   512
#define INSN_BYTES   9
#define ACCESS_BYTES 3

static const struct dg_plan **plans; /* by template */

void dg_plans_start(void) { plans = rt_pages(DG_TEMPLATES * sizeof *plans); }

/* Memory for plans, which live as long as the process. */
static void *arena(u64 bytes) {
    static u8 *at, *end;
    bytes = RT_ROUND_UP(bytes, 8);
    if ((u64)(end - at) < bytes) {
        u64 more = bytes > ARENA ? bytes : ARENA;
        at = rt_pages(more);
        end = at + more;
    }
    at += bytes;
    return at - bytes;
}

static struct dg_operand operand_of(const struct ip_tr_access *a, u64 part) {
    struct dg_operand o = {.disp = a->disp + (i64)part};
    if (a->base != DG_NO_WORD) o.base = (u8)(1 + a->base);
    if (a->index != DG_NO_WORD) o.index = (u8)(1 + a->index), o.shift = (u8)__builtin_ctz(a->scale);
    if (a->seg == IP_SEG_FS) o.flags |= DG_OP_FS;
    if (a->seg == IP_SEG_GS) o.flags |= DG_OP_GS;
    if (a->flags & IP_TRA_BIT) o.flags |= DG_OP_BIT;
    if (a->flags & IP_TRA_ADDR32) o.flags |= DG_OP_32;
    if (a->flags & IP_TRA_BYTE) o.flags |= DG_OP_BYTE;
    return o;
}

/* Hints access nothing. */
static bool counts(const struct ip_tr_access *a) { return !(a->flags & IP_TRA_PREFETCH); }

/* Such an instruction's accesses are all so, or none. */
static bool is_some(const struct ip_tr_insn *insn, const struct ip_tr_access *first) {
    return insn->n_accesses && first->flags & IP_TRA_MAYBE;
}

static u32 parts_of(const struct ip_tr_access *a) { return (a->size + DG_PART - 1) / DG_PART; }

/* May an instruction be in one definition with those before, which lie from lo up to hi?  If it is their function's, or
 * the head of a loop that they are the end of. */
static bool joins(const struct ip_tr_insn *insn, u64 lo, u64 hi) {
    return dg_same_function(insn - 1, insn) || (insn->pc >= lo && insn->pc < hi);
}

static bool is_plain(const struct dg_operand *o, u32 number) { return o->base == number + 1 && !o->index && !o->disp; }

static struct dg_plan *make(const struct ip_tr_block *b) {
    static struct dg_operand ops[MOST_OPS];
    static struct dg_segment segments[MOST_INSNS];
    static u16 insn_of[MOST_OPS], ops_upto[MOST_INSNS], special[MOST_OPS];
    static u8 sizes[MOST_OPS], writes[MOST_OPS];
    const struct ip_tr_insn *insns = tr_insns(b);
    const struct ip_tr_access *accesses = tr_accesses(b);
    u32 n_ops = 0, n_segments = 0, n_special = 0, n_plain = 0;
    u64 lo = ~0ull, hi = 0, segment_lo = 0, segment_hi = 0;
    struct dg_segment *s = NULL;
    for (u32 i = 0; i < b->n_insns && i < MOST_INSNS; i++) {
        const struct ip_tr_access *a = accesses + insns[i].first_access, *end = a + insns[i].n_accesses;
        u32 first = n_ops;
        bool some = is_some(&insns[i], a);
        for (; a < end; a++) {
            for (u32 k = 0; counts(a) && k < parts_of(a) && n_ops < MOST_OPS; k++) {
                u32 left = a->size - k * DG_PART;
                ops[n_ops] = operand_of(a, k * DG_PART);
                if (is_plain(&ops[n_ops], n_ops) && n_plain == n_ops) n_plain++;
                if (ops[n_ops].flags) special[n_special++] = (u16)n_ops;
                insn_of[n_ops] = (u16)i;
                sizes[n_ops] = (u8)(left < DG_PART ? left : DG_PART);
                writes[n_ops++] = a->kind == IP_ACC_W;
            }
        }
        if (!s || !joins(&insns[i], segment_lo, segment_hi) || insns[i].rep || s->rep_alone || some || s->some ||
            s->n_insns == DG_ITEMS || s->n_ops + (n_ops - first) > DG_ITEMS) {
            s = &segments[n_segments++];
            *s = (struct dg_segment){
                .first = (u16)i, .first_op = first, .rep = DG_NO_WORD, .rep_alone = insns[i].rep != 0, .some = some};
            if (insns[i].rep) s->rep = insns[i].rep_words;
            segment_lo = ~0ull, segment_hi = 0;
        }
        s->n_insns++;
        s->n_ops = (u16)(s->n_ops + (n_ops - first));
        ops_upto[i] = (u16)n_ops;
        u64 end_of_insn = insns[i].pc + insns[i].len;
        if (insns[i].pc < segment_lo) segment_lo = insns[i].pc;
        if (end_of_insn > segment_hi) segment_hi = end_of_insn;
        if (segment_lo < lo) lo = segment_lo;
        if (segment_hi > hi) hi = segment_hi;
    }
    struct dg_plan *p = arena(sizeof *p + n_segments * sizeof *s);
    *p = (struct dg_plan){.block = b,
                          .pc = b->pc,
                          .next = b->next,
                          .lo = lo,
                          .hi = hi,
                          .n_segments = (u16)n_segments,
                          .n_words = b->n_words,
                          .n_insns = b->n_insns,
                          .n_special = (u16)n_special,
                          .n_plain = (u16)n_plain,
                          .end = b->end,
                          .sp_word = b->sp_word,
                          .sp_disp = b->sp_disp,
                          .ops = arena((n_ops + DG_AT_ONCE) * sizeof *ops),
                          .special = arena(n_special * sizeof *special),
                          .insn_of = arena(n_ops * sizeof *insn_of),
                          .ops_upto = arena(b->n_insns * sizeof *ops_upto),
                          .sizes = arena(n_ops),
                          .writes = arena(n_ops)};
    memcpy(p->segments, segments, n_segments * sizeof *s);
    memcpy(p->ops, ops, n_ops * sizeof *ops);
    memcpy(p->special, special, n_special * sizeof *special);
    memcpy(p->insn_of, insn_of, n_ops * sizeof *insn_of);
    memcpy(p->ops_upto, ops_upto, b->n_insns * sizeof *ops_upto);
    memcpy(p->sizes, sizes, n_ops);
    memcpy(p->writes, writes, n_ops);
    return p;
}

const struct dg_plan *dg_plan(u32 block) {
    const struct dg_plan **entry = &plans[dg_template(block)], *p = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    if (p) return p;
    dg_lock();
    p = *entry;
    if (!p) p = make((const struct ip_tr_block *)(u64)block);
    __atomic_store_n(entry, p, __ATOMIC_RELEASE);
    dg_unlock();
    return p;
}

static u32 define(const struct dg_plan *p, const struct dg_segment *s) {
    const struct ip_tr_insn *insns = tr_insns(p->block);
    u32 times = s->rep_alone && s->n_ops ? DG_ITEMS / s->n_ops : 1;
    u64 n_accesses = (u64)s->n_ops * times;
    u8 *to = dg_definition(DG_BBDEF, 1 + 8 + (u64)s->n_insns * INSN_BYTES + n_accesses * ACCESS_BYTES);
    *to++ = (u8)s->n_insns;
    __builtin_memcpy(to, &n_accesses, 8);
    to += 8;
    for (u32 i = s->first; i < (u32)s->first + s->n_insns; i++) {
        __builtin_memcpy(to, &insns[i].pc, 8);
        to[8] = insns[i].len;
        to += INSN_BYTES;
    }
    for (u32 t = 0; t < times; t++) {
        for (u32 k = s->first_op; k < s->first_op + s->n_ops; k++) {
            *to++ = p->writes[k];
            *to++ = p->sizes[k];
            *to++ = (u8)(p->insn_of[k] - s->first);
        }
    }
    return dg.n_bbdefs++;
}

void dg_plan_define(const struct dg_plan *p, struct dg_def *defs) {
    for (u32 i = 0; i < p->n_segments; i++) {
        defs[i] = (struct dg_def){.recent = defs[i].first, .mask = 1};
        if (!p->segments[i].some) defs[i].bbdef = define(p, &p->segments[i]);
    }
}

u32 dg_plan_define_some(const struct dg_plan *p, const struct dg_segment *s, u64 made) {
    const struct ip_tr_insn *insn = &tr_insns(p->block)[s->first];
    u32 n_ops = 0, all = s->first_op + s->n_ops;
    for (u32 k = s->first_op; k < all; k++) n_ops += (made & dg_part_of(p, s, k)) != 0;
    u64 n_accesses = n_ops;
    u8 *to = dg_definition(DG_BBDEF, 1 + 8 + INSN_BYTES + n_accesses * ACCESS_BYTES);
    *to++ = 1;
    __builtin_memcpy(to, &n_accesses, 8);
    __builtin_memcpy(to + 8, &insn->pc, 8);
    to[16] = insn->len;
    to += 8 + INSN_BYTES;
    for (u32 k = s->first_op; k < all; k++) {
        if (!(made & dg_part_of(p, s, k))) continue;
        *to++ = p->writes[k];
        *to++ = p->sizes[k];
        *to++ = 0;
    }
    return dg.n_bbdefs++;
}

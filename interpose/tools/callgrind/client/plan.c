/* What the run of a block costs, found out once for each block and thread: its accesses in a form that takes few
 * instructions each, its branches, the lines that it is fetched from, and sums for each place where it can be left. */
#include "tools/callgrind/client/simulate.h"

#define NO_WORD 0xffff

enum locking { NOT_LOCKED, LOCKED, LOCKED_EXCHANGE /* by comparing: one access */ };

/* The prefix, and xchg with memory, which locks without. */
static enum locking locking_of(const struct ip_tr_insn *insn) {
    const u8 *b = insn->bytes, *end = b + insn->len;
    bool lock = false;
    while (b < end && (*b == 0xf0 || *b == 0x66 || *b == 0x67 || *b == 0xf2 || *b == 0xf3 || *b == 0x2e || *b == 0x36 ||
                       *b == 0x3e || *b == 0x26 || *b == 0x64 || *b == 0x65 || (*b & 0xf0) == 0x40))
        lock |= *b++ == 0xf0;
    if (b + 1 >= end) return NOT_LOCKED;
    if (b[0] == 0x86 || b[0] == 0x87) return b[1] < 0xc0 ? LOCKED : NOT_LOCKED;
    if (!lock) return NOT_LOCKED;
    return b[0] == 0x0f && (b[1] == 0xb0 || b[1] == 0xb1 || b[1] == 0xc7) ? LOCKED_EXCHANGE : LOCKED;
}

static bool same_place(const struct ip_tr_access *a, const struct ip_tr_access *b) {
    return a->base == b->base && a->index == b->index && a->disp == b->disp && a->scale == b->scale &&
           a->seg == b->seg && a->size == b->size;
}

static bool is_repeated(const struct ip_tr_insn *insn) { return insn->rep && insn->rep_words != NO_WORD; }

/* Under way. */
struct making {
    const struct ip_tr_block *block;
    struct cg_plan *plan;
    struct cg_access *accesses;
    u16 *templates;
    u32 *branches;
    struct cg_line *lines;
    struct cg_cost *fixed, *missed;
    u32 n_accesses, n_branches, n_lines, n_fixed;
    struct cg_exit sum;
};

static void fixed(struct making *m, u64 insn, enum cg_event e, u32 n) {
    if (cg_place(e) < 0 || !n) return;
    m->fixed[m->n_fixed++] = (struct cg_cost){(u16)insn, (u8)cg_place(e), (u8)n};
    if (e == CG_DR) m->sum.sum += n * CG_READ;
    if (e == CG_DW) m->sum.sum += n * CG_WRITE;
    if (e == CG_BC) m->sum.sum += n * CG_BRANCH;
    if (e == CG_GE) m->sum.special = m->plan->locks = true;
}

static void branch(struct making *m, u64 insn, enum cg_event e) {
    u64 pc = tr_insns(m->block)[insn].pc;
    m->missed[m->n_branches] = (struct cg_cost){(u16)insn, (u8)cg_place(e), 1};
    m->branches[m->n_branches++] = e == CG_BCM ? (u32)(pc << CG_HISTORY) & (CG_CONDITIONAL - 1)
                                               : (u32)(pc % CG_INDIRECT);
}

static struct cg_access access_of(const struct ip_tr_access *a) {
    struct cg_access x = {.disp = a->disp, .more = (u16)((a->size ? a->size : 1) - 1)};
    if (a->base == NO_WORD || a->seg == IP_SEG_FS || a->seg == IP_SEG_GS ||
        a->flags & (IP_TRA_BIT | IP_TRA_BYTE | IP_TRA_ADDR32)) {
        x.kind = CG_OTHER;
        return x;
    }
    x.base = a->base;
    if (a->index != NO_WORD) {
        x.kind = CG_INDEXED;
        x.index = a->index;
        x.scale = (u8)__builtin_ctz(a->scale);
    }
    return x;
}

static void data(struct making *m, u64 i) {
    const struct ip_tr_insn *insn = &tr_insns(m->block)[i];
    const struct ip_tr_access *a = tr_accesses(m->block) + insn->first_access;
    enum locking locking = insn->n_accesses > 1 ? locking_of(insn) : NOT_LOCKED;
    u32 reads = 0, writes = 0;
    for (u32 j = 0; j < insn->n_accesses; j++) {
        if (a[j].flags & IP_TRA_PREFETCH) continue;
        if (a[j].flags & IP_TRA_MAYBE) { /* counted when it is simulated */
            m->sum.special = true;
            continue;
        }
        bool write = a[j].kind == IP_ACC_W, modified = false;
        /* What is read and written at once counts as written. */
        for (u32 k = j + 1; !write && locking != LOCKED && k < insn->n_accesses; k++)
            modified |= a[k].kind == IP_ACC_W && same_place(&a[j], &a[k]);
        if (modified) continue;
        m->accesses[m->n_accesses] = access_of(&a[j]);
        m->templates[m->n_accesses++] = (u16)(insn->first_access + j);
        if (write)
            writes++;
        else
            reads++;
    }
    fixed(m, i, CG_DR, reads);
    fixed(m, i, CG_DW, writes);
    if (writes && cg.write_back) m->sum.special = true;
}

static void fetch(struct making *m, u64 i) {
    const struct ip_tr_insn *insn = &tr_insns(m->block)[i];
    u32 shift = (u32)__builtin_ctz(cg.i1.line);
    for (u64 line = insn->pc >> shift; line <= (insn->pc + insn->len - 1) >> shift; line++)
        if (!m->n_lines || m->lines[m->n_lines - 1].line != line)
            m->lines[m->n_lines++] = (struct cg_line){.line = line, .insn = (u16)i, .before = (u16)m->n_accesses};
}

/* The exit behind the instruction. */
static void instruction(struct making *m, u64 i) {
    const struct ip_tr_insn *insn = &tr_insns(m->block)[i];
    bool last = i + 1 == m->block->n_insns, jump = insn->kind == IP_TR_COND_JUMP;
    enum locking locking = cg.branches || cg_place(CG_GE) >= 0 ? locking_of(insn) : NOT_LOCKED;
    struct cg_exit *e = &m->plan->exits[i + 1];
    if (cg.caches) fetch(m, i);
    if (is_repeated(insn))
        m->sum.special = true;
    else if (cg.caches)
        data(m, i);
    if (locking != NOT_LOCKED) fixed(m, i, CG_GE, 1);
    if (cg.branches && locking == LOCKED) { /* Valgrind tries in a loop */
        fixed(m, i, CG_BC, 1);
        branch(m, i, CG_BCM);
    }
    if (cg_place(CG_ACCOST1) >= 0) m->sum.special = true;
    m->sum.n_accesses = (u16)m->n_accesses;
    m->sum.n_passed = (u16)m->n_branches;
    m->sum.n_lines = (u16)m->n_lines;
    m->sum.taken = cg.branches && jump && !last;
    if (cg.branches && jump) {
        fixed(m, i, CG_BC, 1);
        branch(m, i, CG_BCM);
    }
    if (cg.branches && last && (m->block->end == IP_TR_JMPI || m->block->end == IP_TR_CALLI)) {
        fixed(m, i, CG_BI, 1);
        branch(m, i, CG_BIM);
    }
    m->sum.code = (u64)cg_settled;
    *e = m->sum;
}

void cg_plan_place(struct thread *t, struct cg_place *at, const struct ip_tr_block *b) {
    u32 n = b->n_insns, most = 2 * n + 1, exits = n + 1;
    /* What a run looks at lies together. */
    struct cg_plan *p = cg_alloc(t, sizeof *p + exits * sizeof p->exits[0] + b->n_accesses * sizeof(struct cg_access) +
                                        most * sizeof(u32));
    struct making m = {.block = b, .plan = p, .accesses = (struct cg_access *)(p->exits + exits)};
    struct cg_cost fixed_costs[5 * n], missed[most];
    struct cg_line lines[most];
    m.branches = (u32 *)(m.accesses + b->n_accesses);
    p->block = b;
    p->templates = m.templates = cg_alloc(t, b->n_accesses * sizeof *m.templates);
    m.lines = lines;
    m.fixed = fixed_costs;
    m.missed = missed;
    p->exits[0].code = (u64)cg_settled;
    for (u64 i = 0; i < n; i++) instruction(&m, i);
    p->lines = memcpy(cg_alloc(t, m.n_lines * sizeof *lines), lines, m.n_lines * sizeof *lines);
    p->costs = cg_alloc(t, sizeof *p->costs + (m.n_fixed + m.n_branches) * sizeof *missed);
    p->costs->n_fixed = m.n_fixed;
    p->costs->n_branches = m.n_branches;
    memcpy(p->costs->cost, m.fixed, m.n_fixed * sizeof *missed);
    memcpy(p->costs->cost + m.n_fixed, m.missed, m.n_branches * sizeof *missed);
    at->exits = p->exits;
    at->accesses = m.accesses;
    at->branches = m.branches;
    at->pc = b->pc;
    at->target = b->target;
    at->n = b->n_insns;
    at->end = b->end;
    at->end_branch = (u16)(m.n_branches - 1);
}

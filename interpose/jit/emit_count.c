/* Stage 6, runs counted in line (abi/count.h). */
#include "abi/count.h"
#include "abi/exits.h"
#include "abi/space.h"
#include "jit/emit.h"

_Static_assert(8ull * IP_CT_MAX_WORDS <= INT32_MAX, "counters are reached by 32 bits of displacement");

static struct uaddr counter_at(int base, uint32_t word) { return addr_at(base, 8 * (int64_t)word); }

static struct uaddr total_of(uint32_t word) {
    return addr_moved(STATE(ct_total), (int64_t)(8 * (word % IP_CT_TOTALS)));
}

/* Add without a flag touched, by way of t. */
static void add_quietly(struct writer *w, int t, struct uaddr to, int64_t n) {
    put_load(w, 8, t, to);
    put_lea(w, 8, t, addr_at(t, n));
    put_store(w, 8, to, t);
}

/* ---- Arrivals that are known ------------------------------------------------------------------------------------- */

/* Let the tool's assembly look whether the arrival is known, with so much in RCX: then it goes on behind the test of
 * where the block is counted (IP_SYM_LINKED: at end), else to what follows.  A routine that all blocks have in common:
 * in line it was most of the code that calls run through, which the first level cache did not hold. */
static void ask(struct em *m, const struct stub *s, enum ip_sym sym, uint64_t rcx, uint32_t known) {
    struct writer *w = &m->w;
    put_mov_imm(w, IP_RCX, rcx);
    uint64_t unknown = writer_here(w) + MOV64_BYTES + JMP_BYTES;
    put_mov_imm(w, IP_RDX, unknown << 32 | (w->base + known));
    put_jmp_sym(m, sym);
    em_point(m, s->insn, 0, 0);
}

/* A call of this function, or through code that only leads on to one. */
static void em_called(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    bool links = m->run.kind == RUN_LINK;
    enum ip_sym sym = links ? (s->via_t ? IP_SYM_LINKED_FLAGS : IP_SYM_LINKED)
                            : (s->via_t ? IP_SYM_CALLED_FLAGS : IP_SYM_CALLED);
    for (int r = 0; r < 16; r++) /* who goes on behind the counting finds in their slots what it has spilled */
        if ((links ? m->run.spilled | RCX_RDX : RCX_RDX) >> r & 1) save_reg(w, r);
    em_point(m, s->insn, RCX_RDX, 0);
    ask(m, s, sym, m->b->trace | (links ? (uint64_t)m->run.insns << 32 : 0), links ? m->run.end : s->resume);
}

/* A return to this function. */
static void em_returned(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    if (s->via_t) return;
    put_cmp_imm8(w, 1, addr_moved(STATE(ct_where), 3), (int)(IP_CT_RETURNED >> 24));
    uint32_t not_a_return = put_jcc_open(w, IP_CC_NZ);
    em_point(m, s->insn, RCX_RDX, 0); /* in their slots since em_ret */
    ask(m, s, IP_SYM_RETURNED, (uint32_t)s->pc, s->resume);
    writer_bind32(w, not_a_return);
}

void em_arrive(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    if (u->fl_live) {
        put_load(w, 4, u->t0, STATE(ct_where));
        put_lea(w, 4, u->t0, addr_at(u->t0, -(int64_t)(int32_t)u->imm));
        put_jrcxz(w, JMP_BYTES);
    } else {
        put_cmp_imm32(w, STATE(ct_where), (uint32_t)u->imm);
    }
    struct stub *s = em_add_stub(m, ST_ARRIVE);
    em_to_stub(m, s, u->fl_live ? CC_ALWAYS : IP_CC_NZ);
    s->spilled = u->spilled;
    s->insn = u->insn;
    s->pc = u->imm;
    s->via_t = u->fl_live;
    s->resume = w->len;
    m->run.kind = u->kind;
    m->e->where = (uint32_t)u->imm;
    if (!u->spilled && !m->e->compare) m->e->inner = w->len;
}

void em_run(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    uint32_t word = (uint32_t)(u->set >> 32), n = (uint32_t)u->set & 0xff;
    int t = u->t0;
    if (u->fl_live) {
        int more = IP_RDX;
        bool live = !(u->spilled >> more & 1);
        if (live) save_reg(w, more);
        em_point(m, u->insn, (uint16_t)(u->spilled | REG_BIT(more)), 0);
        put_load(w, 8, t, STATE(ct_base));
        add_quietly(w, more, counter_at(t, word), 1);
        add_quietly(w, more, total_of(word), n);
        if (live) restore_reg(w, more);
    } else {
        put_load(w, 8, t, STATE(ct_base));
        put_add_imm32(w, 8, counter_at(t, word), 1);
        put_add_imm32(w, 8, total_of(word), n);
    }
    em_point(m, u->insn, u->spilled, IP_PF_RECORDED);
    m->run.word = word;
    m->run.insns = n;
    m->run.active = (uint32_t)u->set >> 8 & 0xfff;
    m->run.site = (uint32_t)u->set >> 20;
    m->run.end = w->len;
    m->run.spilled = u->spilled;
}

void em_arrive_stub(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    em_point(m, s->insn, s->spilled, 0);
    em_restore_all(w, s->spilled);
    em_point(m, s->insn, 0, 0);
    if (m->run.kind == RUN_CALLED || m->run.kind == RUN_LINK) em_called(m, s);
    if (m->run.kind == RUN_BACK) em_returned(m, s);
    save_reg(w, IP_RCX);
    save_reg(w, IP_RDX);
    em_point(m, s->insn, RCX_RDX, 0);
    put_mov_imm(w, IP_RCX, m->b->trace);
    put_mov_imm(w, IP_RDX, s->pc);
    put_store_imm(w, 8, STATE(resume), w->base + s->resume);
    int x = em_add_exit(m, m->b->trace, IP_XS_ARRIVE, 0);
    em_leave(m, x, s->via_t ? IP_SYM_ARRIVE_FLAGS : IP_SYM_ARRIVE);
    m->e->exits[x].patch_off = s->resume;
}

_Static_assert(sizeof((struct tstate *)0)->ct_total == 8 * IP_CT_TOTALS, "total_of");

/* What a return has put into its slots (em_returned) is there for the block behind it alone. */
void em_uncounted(struct em *m) {
    put_store_imm(&m->w, 4, STATE(ct_where), IP_CT_NOWHERE);
    put_store_imm(&m->w, 8, STATE(ct_from), 0);
}

void em_leave_context(struct em *m, unsigned kind) {
    struct writer *w = &m->w;
    uint32_t offset = m->b->trace - IP_TRACE_BASE;
    if (kind == IP_CT_RETURN) {
        put_store_imm(w, 4, STATE(ct_where), IP_CT_RETURNED | offset / 8);
    } else if (kind == IP_CT_CALL && m->run.site) {
        put_store_imm(w, 4, STATE(ct_where), IP_CT_CALLED | (m->run.word + m->run.site));
    } else if (kind == IP_CT_JUMP && m->run.site) {
        put_store_imm(w, 4, STATE(ct_where), IP_CT_TAILED + m->run.word + m->run.site);
    } else {
        if (kind == IP_CT_CALL) put_store_imm(w, 4, STATE(ct_where), IP_CT_NOWHERE);
        put_store_imm(w, 8, STATE(ct_from), m->b->trace | kind);
    }
}
_Static_assert(IP_TRACE_MAX / 8 <= 1 << 24, "a template in ct_where, below IP_CT_RETURNED");

/* A jcc that ends the run early, or goes into another function. */
void em_side(struct em *m, const struct uinstr *u) {
    struct stub *s = em_add_stub(m, ST_LEFT);
    s->insn = u->insn;
    s->pc = u->imm;
    s->exit = (int)(u->set >> 32);
    s->size = (uint16_t)(u->set & ~(uint64_t)RUN_LEAVES);
    s->via_t = (u->set & RUN_LEAVES) != 0;
    s->exit_kind = u->fl_lost;
    em_to_stub(m, s, u->kind);
}

void em_left_stub(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    int insn = s->insn;
    em_point(m, insn + 1, 0, IP_PF_COMMITTED);
    if (s->size && s->exit_kind) { /* flags are free */
        save_reg(w, IP_RCX);
        em_point(m, insn + 1, REG_BIT(IP_RCX), IP_PF_COMMITTED);
        put_load(w, 8, IP_RCX, STATE(ct_base));
        put_add_imm32(w, 8, counter_at(IP_RCX, (uint32_t)s->exit), 1);
        put_add_imm32(w, 8, total_of((uint32_t)s->exit + 1), -(uint32_t)s->size);
        restore_reg(w, IP_RCX);
    } else if (s->size) {
        save_reg(w, IP_RCX);
        save_reg(w, IP_RDX);
        em_point(m, insn + 1, RCX_RDX, IP_PF_COMMITTED);
        put_load(w, 8, IP_RCX, STATE(ct_base));
        add_quietly(w, IP_RDX, counter_at(IP_RCX, (uint32_t)s->exit), 1);
        add_quietly(w, IP_RDX, total_of((uint32_t)s->exit + 1), -(int64_t)s->size);
        restore_reg(w, IP_RCX);
        restore_reg(w, IP_RDX);
    }
    if (s->via_t) {
        put_store_imm(w, 8, STATE(ct_from), m->b->trace | IP_CT_JUMP);
        if (s->size) put_store_imm(w, 4, addr_moved(STATE(ct_from), 4), (uint32_t)(insn + 1));
    }
    em_direct_exit(m, s->pc, CC_ALWAYS, insn);
}

/* Stage 6, runs counted in line (abi/count.h). */
#include "abi/count.h"
#include "abi/exits.h"
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

void em_run(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    uint32_t where = (uint32_t)(u->imm >> 32), word = (uint32_t)(u->set >> 32), n = (uint32_t)u->set;
    int t = u->t0;
    struct stub *s;
    if (u->fl_live) {
        put_load(w, 4, t, STATE(ct_where));
        put_lea(w, 4, t, addr_at(t, -(int64_t)(int32_t)where));
        put_jrcxz(w, JMP_BYTES);
        s = em_add_stub(m, ST_ARRIVE);
        em_to_stub(m, s, CC_ALWAYS);
    } else {
        put_cmp_imm32(w, STATE(ct_where), where);
        s = em_add_stub(m, ST_ARRIVE);
        em_to_stub(m, s, IP_CC_NZ);
    }
    s->spilled = u->spilled;
    s->insn = u->insn;
    s->pc = where;
    s->via_t = u->fl_live;
    s->resume = w->len;
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
        put_add_imm32(w, counter_at(t, word), 1);
        put_add_imm32(w, total_of(word), n);
    }
    em_point(m, u->insn, u->spilled, IP_PF_RECORDED);
}

void em_arrive_stub(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    em_point(m, s->insn, s->spilled, 0);
    em_restore_all(w, s->spilled);
    em_point(m, s->insn, 0, 0);
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

void em_leave_context(struct em *m, unsigned kind) {
    if (kind == IP_CT_CALL || kind == IP_CT_RETURN) put_store_imm(&m->w, 4, STATE(ct_where), IP_CT_NOWHERE);
    put_store_imm(&m->w, 8, STATE(ct_from), m->b->trace | kind);
}

/* A jcc that ends the run early, or goes into another function. */
void em_side(struct em *m, const struct uinstr *u) {
    struct stub *s = em_add_stub(m, ST_LEFT);
    s->insn = u->insn;
    s->pc = u->imm;
    s->exit = (int)(u->set >> 32);
    s->size = (uint16_t)(u->set & ~(uint64_t)RUN_LEAVES);
    s->via_t = (u->set & RUN_LEAVES) != 0;
    em_to_stub(m, s, u->kind);
}

void em_left_stub(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    int insn = s->insn;
    em_point(m, insn + 1, 0, IP_PF_COMMITTED);
    if (s->size) {
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
        em_leave_context(m, IP_CT_JUMP);
        if (s->size) put_store_imm(w, 4, addr_moved(STATE(ct_from), 4), (uint32_t)(insn + 1));
    }
    em_direct_exit(m, s->pc, CC_ALWAYS, insn);
}

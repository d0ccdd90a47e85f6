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

_Static_assert(sizeof(struct ip_ct_site) == 8 * IP_CT_SITE_WORDS, "a site's words");
_Static_assert(sizeof(struct ip_ct_frame) == 88, "arrive.S: FRAME");

#define FRAME(reg, field) addr_at(reg, offsetof(struct ip_ct_frame, field))
#define BELOW(reg, field)                                                                                              \
    addr_at(reg, (int64_t)offsetof(struct ip_ct_frame, field) - (int64_t)sizeof(struct ip_ct_frame))
#define ABOVE(reg, field)                                                                                              \
    addr_at(reg, (int64_t)offsetof(struct ip_ct_frame, field) + (int64_t)sizeof(struct ip_ct_frame))
#define SITE(reg, field) addr_at(reg, offsetof(struct ip_ct_site, field))

enum { MOST_TESTS = 8 };
struct tests {
    struct writer *w;
    uint32_t fails[MOST_TESTS];
    int n;
};

static void fails(struct tests *t, enum ip_cc cc) { t->fails[t->n++] = put_jcc_open(t->w, cc); }

static void fails_unless(struct tests *t, struct uaddr field, uint32_t value) {
    put_cmp_imm32(t->w, 4, field, value);
    fails(t, IP_CC_NZ);
}

static void failed(struct tests *t) {
    for (int i = 0; i < t->n; i++) writer_bind32(t->w, t->fails[i]);
}

/* On if RCX is 0, without a flag touched; what is returned is to be bound elsewhere. */
static uint32_t unless_zero(struct writer *w) {
    put_jrcxz(w, JMP_BYTES);
    return put_jmp_open(w);
}

static void put_total(struct writer *w, int dst) {
    put_load(w, 8, dst, total_of(0));
    for (uint32_t i = 1; i < IP_CT_TOTALS; i++) put_add(w, dst, total_of(i));
}

/* The address of a word of the present context's to dst, by way of t. */
static void put_word_at(struct writer *w, int dst, int t, int word) {
    struct uaddr at = addr_sum(t, word, 0);
    at.scale = 8;
    put_load(w, 8, t, STATE(ct_base));
    put_lea(w, 8, dst, at);
}

/* May who knows that the comparison would fail come to the stub at once?  Not past one of the code. */
static bool is_way_in(const struct em *m, const struct stub *s) { return !s->via_t && !s->spilled && !m->e->compare; }

/* Let the tool's assembly look whether the arrival is known, with so much in RCX: then it goes on behind the test of
 * where the block is counted (IP_SYM_LINKED: at end), else to what follows.  RCX and RDX are in their slots. */
static void ask(struct em *m, const struct stub *s, enum ip_sym sym, uint64_t rcx, uint32_t known) {
    struct writer *w = &m->w;
    put_mov_imm(w, IP_RCX, rcx);
    uint64_t unknown = writer_here(w) + MOV64_BYTES + JMP_BYTES;
    put_mov_imm(w, IP_RDX, unknown << 32 | (w->base + known));
    put_jmp_sym(m, sym);
    em_point(m, s->insn, 0, 0);
}

/* Code that only leads on is counted at the call's site, and the call is still on its way.  No flag is touched: a jump
 * follows, before which they live. */
static void em_linked(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    enum { AT = IP_RAX, N = IP_RCX };
    const uint16_t taken = m->run.spilled | RAX_RCX_RDX; /* who goes on finds in their slots what it has spilled */
    uint32_t others[3];
    int n = 0;
    if (!m->e->compare) m->e->called = w->len;
    em_save_all(w, taken);
    em_point(m, s->insn, taken, 0);
    put_load(w, 4, AT, STATE(ct_where));
    put_lea(w, 4, AT, addr_at(AT, -(int64_t)IP_CT_CALLED));
    put_mov_imm(w, N, IP_CT_WORD_BITS);
    put_shrx(w, N, AT, N);
    others[n++] = unless_zero(w);
    put_word_at(w, AT, N, AT);
    put_load(w, 4, N, SITE(AT, link));
    put_lea(w, 4, N, addr_at(N, -(int64_t)m->b->trace));
    others[n++] = unless_zero(w);
    put_load(w, 4, N, STATE(ct_slow));
    others[n++] = unless_zero(w);
    add_quietly(w, N, SITE(AT, link_insns), m->run.insns);
    add_quietly(w, N, total_of(0), m->run.insns);
    em_restore_all(w, (uint16_t)(taken & ~m->run.spilled));
    put_jmp(w, writer_at(w, m->run.end));
    for (int i = 0; i < n; i++) writer_bind32(w, others[i]);
    em_point(m, s->insn, taken, 0);
    em_restore_all(w, (uint16_t)(taken & ~(m->run.spilled | RCX_RDX)));
    em_point(m, s->insn, m->run.spilled | RCX_RDX, 0);
    ask(m, s, IP_SYM_LINKED, m->b->trace | (uint64_t)m->run.insns << 32, m->run.end);
}

/* A call of this function from a site that has called it before: a frame, one call more.  Tail calls, and calls where
 * flags live, are settled by a routine that all blocks have in common: few are, and in line they would crowd out
 * others' code.  What is returned is to be bound where RCX and RDX are in their slots; 0: nothing. */
static uint32_t em_called(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    enum { TOP = IP_RCX, AT = IP_RDX };
    if (is_way_in(m, s)) m->e->called = w->len;
    save_reg(w, IP_RCX);
    save_reg(w, IP_RDX);
    em_point(m, s->insn, RCX_RDX, 0);
    if (s->via_t) {
        ask(m, s, IP_SYM_CALLED_FLAGS, m->b->trace, s->resume);
        return 0;
    }
    struct tests t = {.w = w};
    put_load(w, 4, TOP, STATE(ct_where));
    put_lea(w, 4, TOP, addr_at(TOP, -(int64_t)IP_CT_CALLED));
    put_cmp_reg(w, TOP, IP_CT_MAX_WORDS);
    uint32_t no_call = put_jcc_open(w, IP_CC_NB);
    put_word_at(w, AT, AT, TOP);
    fails_unless(&t, SITE(AT, callee), m->b->trace);
    put_load(w, 8, TOP, STATE(ct_top));
    put_cmp(w, TOP, STATE(ct_limit));
    fails(&t, IP_CC_NB);
    put_lea(w, 8, TOP, addr_at(TOP, sizeof(struct ip_ct_frame)));
    /* As if no call of the function were under way */
    put_lea(w, 8, AT, addr_at(AT, (int64_t)offsetof(struct ip_ct_site, at[0]) - IP_CT_COUNT));
    put_store(w, 8, FRAME(TOP, call), AT);
    put_add_imm32(w, 8, addr_at(AT, IP_CT_COUNT), 1);
    put_load(w, 8, AT, STATE(ct_levels[0]));
    /* Stores take the time: these are not made where the last call at this depth has left the same. */
    put_cmp(w, AT, STATE(ct_base));
    uint32_t elsewhere = put_jcc_open(w, IP_CC_NZ);
    put_cmp(w, AT, FRAME(TOP, base));
    uint32_t elsewhere_then = put_jcc_open(w, IP_CC_NZ);
    put_cmp_imm32(w, 4, FRAME(TOP, flags), IP_CT_F_QUICK);
    uint32_t another = put_jcc_open(w, IP_CC_NZ);
    uint32_t the_same = writer_here(w);
    put_lea(w, 8, AT, counter_at(AT, m->run.word + m->run.active));
    put_store(w, 8, FRAME(TOP, active), AT);
    put_add_imm32(w, 4, addr_at(AT, 0), 1);
    put_cmp_imm32(w, 4, addr_at(AT, 0), 2);
    uint32_t under_way = put_jcc_open(w, IP_CC_NB);
    uint32_t both = writer_here(w);
    put_lea(w, 8, AT, addr_at(IP_RSP, 8));
    put_store(w, 8, FRAME(TOP, sp), AT);
    put_mov_imm(w, AT, (uint64_t)m->b->trace << 32 | (uint32_t)s->pc);
    put_store(w, 8, FRAME(TOP, where), AT);
    put_total(w, AT);
    put_store(w, 8, FRAME(TOP, began), AT);
    put_store(w, 8, STATE(ct_top), TOP);
    put_store_imm(w, 4, STATE(ct_where), (uint32_t)s->pc);
    em_restore_all(w, RCX_RDX);
    put_jmp(w, writer_at(w, s->resume));
    /* One is. */
    writer_bind32(w, under_way);
    em_point(m, s->insn, RCX_RDX, 0);
    put_load(w, 8, AT, FRAME(TOP, call));
    put_add_imm32(w, 8, addr_at(AT, IP_CT_COUNT), UINT32_MAX);
    put_lea(w, 8, AT, addr_at(AT, sizeof((struct ip_ct_site *)0)->at[0]));
    put_store(w, 8, FRAME(TOP, call), AT);
    put_add_imm32(w, 8, addr_at(AT, IP_CT_COUNT), 1);
    put_load(w, 8, AT, STATE(ct_levels[1]));
    put_store(w, 8, STATE(ct_base), AT);
    put_store(w, 8, FRAME(TOP, base), AT);
    put_store_imm(w, 8, FRAME(TOP, flags), IP_CT_F_QUICK | IP_CT_F_INNER);
    put_jmp(w, both);
    writer_bind32(w, elsewhere);
    writer_bind32(w, elsewhere_then);
    writer_bind32(w, another);
    put_store(w, 8, STATE(ct_base), AT);
    put_store(w, 8, FRAME(TOP, base), AT);
    put_store_imm(w, 8, FRAME(TOP, flags), IP_CT_F_QUICK);
    put_jmp(w, the_same);
    failed(&t);
    em_point(m, s->insn, RCX_RDX, 0);
    uint32_t known_not = put_jmp_short_open(w);
    writer_bind32(w, no_call);
    ask(m, s, IP_SYM_CALLED, m->b->trace, s->resume);
    return known_not;
}

/* A return to this function, which called what ends.  Where more ends than that, the common routine goes on. */
static void em_returned(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    enum { TOP = IP_RCX, N = IP_RDX };
    const struct uaddr kind = addr_moved(STATE(ct_where), 3);
    if (s->via_t) return;
    bool way_in = is_way_in(m, s) && m->b->key <= INT32_MAX;
    uint32_t no_return = 0, in_slots = 0;
    put_cmp_imm8(w, 1, kind, (int)(IP_CT_RETURNED >> 24));
    uint32_t not_a_return = put_jcc_open(w, IP_CC_NZ);
    if (way_in) {
        in_slots = put_jmp_open(w);
        em_lead_entry(m, w->len);
        em_point(m, s->insn, RCX_RDX, 0);
        put_cmp_imm8(w, 1, kind, (int)(IP_CT_RETURNED >> 24));
        no_return = put_jcc_open(w, IP_CC_NZ);
        writer_bind32(w, in_slots);
    }
    em_point(m, s->insn, RCX_RDX, 0); /* in their slots since em_ret */
    struct tests t = {.w = w};
    fails_unless(&t, STATE(ct_slow), 0);
    put_load(w, 8, TOP, STATE(ct_top));
    put_cmp(w, IP_RSP, FRAME(TOP, sp));
    fails(&t, IP_CC_NZ);
    put_cmp(w, IP_RSP, BELOW(TOP, sp));
    fails(&t, IP_CC_NB);
    fails_unless(&t, BELOW(TOP, where), (uint32_t)s->pc);
    put_test_imm32(w, FRAME(TOP, flags), ~(uint32_t)IP_CT_F_ENDS);
    fails(&t, IP_CC_NZ);
    put_lea(w, 8, TOP, addr_at(TOP, -(int64_t)sizeof(struct ip_ct_frame)));
    put_store(w, 8, STATE(ct_top), TOP);
    put_load(w, 8, N, FRAME(TOP, base));
    put_cmp(w, N, STATE(ct_base));
    uint32_t elsewhere = put_jcc_open(w, IP_CC_NZ);
    uint32_t there = writer_here(w);
    put_load(w, 8, N, ABOVE(TOP, active));
    put_add_imm32(w, 4, addr_at(N, 0), UINT32_MAX);
    put_total(w, N);
    put_sub(w, N, ABOVE(TOP, began));
    put_load(w, 8, TOP, ABOVE(TOP, call));
    put_add_to(w, addr_at(TOP, IP_CT_COUNT + 8), N);
    put_store_imm(w, 4, STATE(ct_where), (uint32_t)s->pc);
    em_restore_all(w, RCX_RDX);
    put_jmp(w, writer_at(w, s->resume));
    writer_bind32(w, elsewhere);
    put_store(w, 8, STATE(ct_base), N);
    put_jmp(w, there);
    if (way_in) {
        writer_bind32(w, no_return);
        em_point(m, s->insn, RCX_RDX, 0);
        em_restore_all(w, RCX_RDX);
        put_jmp(w, w->base + m->e->entry);
    }
    failed(&t);
    em_point(m, s->insn, RCX_RDX, 0);
    ask(m, s, IP_SYM_RETURNED, (uint32_t)s->pc, s->resume);
    writer_bind32(w, not_a_return);
    em_point(m, s->insn, 0, 0);
}

void em_arrive(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    if (u->fl_live) {
        put_load(w, 4, u->t0, STATE(ct_where));
        put_lea(w, 4, u->t0, addr_at(u->t0, -(int64_t)(int32_t)u->imm));
        put_jrcxz(w, JMP_BYTES);
    } else {
        put_cmp_imm32(w, 4, STATE(ct_where), (uint32_t)u->imm);
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
    uint32_t known_not = m->run.kind == RUN_CALLED ? em_called(m, s) : 0;
    if (m->run.kind == RUN_LINK) em_linked(m, s);
    if (m->run.kind == RUN_BACK) em_returned(m, s);
    save_reg(w, IP_RCX);
    save_reg(w, IP_RDX);
    if (known_not) writer_bind8(w, known_not);
    em_point(m, s->insn, RCX_RDX, 0);
    put_mov_imm(w, IP_RCX, m->b->trace);
    put_mov_imm(w, IP_RDX, s->pc);
    put_store_imm(w, 8, STATE(resume), writer_at(w, s->resume));
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

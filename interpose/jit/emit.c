/* Stage 6: machine code, exit stubs, and the table that maps host addresses to
 * guest ones.  The main line comes first, stubs after it, or apart from it.
 */
#include "abi/count.h"
#include "jit/emit.h"
#include "jit/ways.h"
#include "abi/space.h"

_Static_assert(UB_MAX_INSN <= UINT8_MAX && IP_PF_RECORDED <= UINT8_MAX, "a point has room for them");

void em_point(struct em *m, int insn, uint16_t spilled, unsigned flags) {
    struct emitted *e = m->e;
    if (e->n_points >= EM_MAX_POINTS) {
        e->overflow = true;
        return;
    }
    struct ip_point *p = &e->points[e->n_points];
    if (e->n_points && p[-1].host_off == m->w.len) {
        p = &e->points[e->n_points - 1];
        flags |= p->flags & IP_PF_RECORDED; /* that stays so */
    } else {
        e->n_points++;
    }
    p->host_off = (uint16_t)m->w.len;
    p->spilled = spilled;
    p->guest_off = (uint8_t)insn;
    p->flags = (uint8_t)flags;
}

int em_add_exit(struct em *m, uint64_t key, int kind, uint32_t aux) {
    struct emitted *e = m->e;
    if (e->n_exits >= EM_MAX_EXITS) {
        e->overflow = true;
        return 0;
    }
    struct emit_exit *x = &e->exits[e->n_exits];
    memset(x, 0, sizeof *x);
    x->key = key;
    x->kind_aux = (uint32_t)kind | aux << 8;
    return e->n_exits++;
}

struct stub *em_add_stub(struct em *m, int kind) {
    if (m->n_stubs >= MAX_STUBS) {
        m->e->overflow = true;
        m->n_stubs--;
    }
    struct stub *s = &m->stubs[m->n_stubs++];
    memset(s, 0, sizeof *s);
    s->kind = (uint8_t)kind;
    s->exit = -1;
    return s;
}

/* A rel32 that is patched while the client runs must be written in one piece:
 * keep it inside an aligned quadword.  lead: opcode bytes before it. */
static void align_patch(struct writer *w, uint32_t lead) {
    while (((writer_here(w) + lead) & 7) > 4) put_nop(w);
}

/* jmp or jcc to be bound; where its distance is. */
static uint32_t put_branch(struct writer *w, int cc) {
    return cc == CC_ALWAYS ? put_jmp_open(w) : put_jcc_open(w, (enum ip_cc)cc);
}

/* jmp or jcc to a direct exit with its stub. */
int em_direct_exit(struct em *m, uint64_t key, int cc, int insn) {
    int x = em_add_exit(m, key, IP_X_DIRECT, 0);
    align_patch(&m->w, cc == CC_ALWAYS ? JMP_OPCODE_BYTES : JCC_OPCODE_BYTES);
    uint32_t from = put_branch(&m->w, cc);
    m->e->exits[x].patch_off = from;
    struct stub *s = em_add_stub(m, ST_EXIT);
    s->exit = x;
    s->from = from;
    s->insn = (int16_t)insn;
    return x;
}

/* jmp or jcc to the newest stub. */
void em_to_stub(struct em *m, struct stub *s, int cc) { s->from = put_branch(&m->w, cc); }

/* t0 = the address with the base of its segment, and no flags touched. */
static void emit_seg_base(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    int t = u->t0;
    const struct uaddr *a = &u->m;
    bool absolute = a->base == IP_REG_NONE && a->index == IP_REG_NONE;
    int64_t disp = absolute && a->addr32 ? (int64_t)(uint32_t)a->disp : a->disp;
    if (!u->seg) { /* only a 32-bit address */
        if (absolute)
            put_mov_imm(w, t, (uint64_t)disp);
        else
            put_address(w, t, *a);
        return;
    }
    if (absolute && disp == (int32_t)disp) {
        put_load(w, 8, t, seg_base(u->seg));
        if (disp) put_lea(w, 8, t, addr_at(t, disp));
        return;
    }
    if (absolute || a->addr32 || (a->base != IP_REG_NONE && a->index != IP_REG_NONE) || a->base == IP_REG_RIP ||
        a->base == t || a->index == t) {
        /* No addend is left for the segment's base: t = address, then t += base in another register. */
        if (absolute)
            put_mov_imm(w, t, (uint64_t)disp);
        else if (a->base == IP_REG_RIP)
            put_mov_imm(w, t, a->rip_target);
        else
            put_address(w, t, *a);
        put_store(w, 8, STATE(tmp[1]), t);
        int r = t == IP_RAX ? IP_RDX : IP_RAX;
        put_store(w, 8, STATE(tmp[2]), r);
        put_load(w, 8, r, seg_base(u->seg));
        put_lea(w, 8, t, addr_sum(r, t, 0));
        put_load(w, 8, r, STATE(tmp[2]));
        return;
    }
    struct uaddr sum = *a;
    put_load(w, 8, t, seg_base(u->seg));
    if (a->base == IP_REG_NONE) {
        sum.base = (uint8_t)t;
    } else {
        sum.index = (uint8_t)t;
        sum.scale = 1;
    }
    put_lea(w, 8, t, sum);
}

/* Without wrgsbase: by way of the kernel. */
static void emit_gs_call(struct em *m, int insn, enum ip_seg seg) {
    em_slow_call(m, IP_SYM_SLOW, IP_XS_GSBASE, m->b->insn[insn].pc, seg);
}

/* A signal here steps on until GS is back; a fault finds GS put back by the
 * handler (signal.c, gather). */
static void emit_gs_insn(struct em *m, const struct uinstr *u, const struct ip_insn *in) {
    struct writer *w = &m->w;
    if (m->gsbase) {
        put_load(w, 8, u->t0, seg_base(u->seg));
        put_wrgsbase(w, u->t0);
    } else {
        emit_gs_call(m, u->insn, u->seg);
    }
    em_point(m, u->insn, u->spilled, IP_PF_GUEST);
    copy_insn_gs(w, in);
    em_point(m, u->insn + 1, u->spilled & ~in->gpr_kill, 0);
    if (m->shadow && !m->gsbase) {
        emit_gs_call(m, u->insn, IP_SEG_NONE);
        em_point(m, u->insn + 1, u->spilled & ~in->gpr_kill, 0);
    } else if (m->shadow) {
        put_mov_imm(w, u->t0, IP_V_CONST - IP_V_DISP);
        put_wrgsbase(w, u->t0);
    }
}

/* wrfsbase, wrgsbase of what may be no address: GS has it for a moment, for the fault.  No register is
 * spilled here. */
static void emit_base_check(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    int t = u->reg == IP_RAX ? IP_RDX : IP_RAX;
    em_point(m, u->insn, 0, IP_PF_GUEST | IP_PF_BOUNDARY);
    put_wrgsbase(w, u->reg);
    if (!m->shadow) return;
    save_reg(w, t);
    em_point(m, u->insn, (uint16_t)REG_BIT(t), 0);
    put_mov_imm(w, t, IP_V_CONST - IP_V_DISP);
    put_wrgsbase(w, t);
    restore_reg(w, t);
    em_point(m, u->insn, 0, 0);
}

/* wrfsbase, wrgsbase: of 32 bits, the upper half becomes 0. */
static void emit_write_base(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    struct uaddr base = seg_base(u->seg);
    if (u->size == 8)
        emit_base_check(m, u);
    else
        put_store_imm(w, 4, addr_moved(base, 4), 0);
    put_store(w, u->size, base, u->reg);
}

/* The address of what the instruction stored to tstate.acc_addr, then the
 * runtime (rt_x87_saved).  No register is spilled here. */
static void emit_fpsave(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    struct uinstr ea = *u;
    int t = IP_RAX;
    while (u->m.base == t || u->m.index == t) t++;
    ea.t0 = (uint8_t)t;
    save_reg(w, t);
    em_point(m, u->insn + 1, (uint16_t)REG_BIT(t), 0);
    if (u->seg)
        emit_seg_base(m, &ea);
    else if (u->m.base == IP_REG_RIP)
        put_mov_imm(w, t, u->m.rip_target);
    else
        put_address(w, t, u->m);
    put_store(w, 8, STATE(acc_addr), t);
    restore_reg(w, t);
    em_slow_call(m, IP_SYM_SLOW, IP_XS_FPSAVE, m->b->insn[u->insn].pc, u->size);
    em_point(m, u->insn + 1, 0, 0);
}

/* loop, loopcc, jrcxz: to a direct exit, else over it.  The fallback of xbegin likewise. */
static void emit_loop(struct em *m, const struct uinstr *u, const struct ip_insn *in) {
    struct writer *w = &m->w;
    if (in->flow == IP_F_XBEGIN) {
        em_point(m, u->insn, u->spilled, IP_PF_GUEST | IP_PF_BOUNDARY);
        put_xbegin(w, JMP_SHORT_BYTES);
    } else {
        copy_loop(w, in, JMP_SHORT_BYTES);
    }
    uint32_t over = put_jmp_short_open(w);
    em_direct_exit(m, u->imm, CC_ALWAYS, u->insn);
    writer_bind8(w, over);
}

/* An immediate of 64 bits to memory, without a register. */
static void put_store_imm64(struct writer *w, struct uaddr to, uint64_t imm) {
    if (imm <= INT32_MAX) {
        put_store_imm(w, 8, to, (uint32_t)imm);
    } else {
        put_store_imm(w, 4, to, (uint32_t)imm);
        put_store_imm(w, 4, addr_moved(to, 4), (uint32_t)(imm >> 32));
    }
}

/* Threads that add at the same moment may lose one. */
static void emit_tally(struct em *m, const struct uinstr *u) {
    uint64_t counter = IP_CHAN_BASE + offsetof(struct ip_chan, counters) + sizeof(uint64_t) * u->imm;
    struct uaddr where = addr_absolute((int64_t)counter);
    put_load(&m->w, 8, u->t0, where);
    put_lea(&m->w, 8, u->t0, addr_at(u->t0, 1)); /* touches no flags */
    put_store(&m->w, 8, where, u->t0);
}

/* A new entry of the call stack, for the return address that the call is about to push. */
static void emit_push_entry(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    int t = u->t0;
    put_load(w, 8, t, STATE(cs_top));
    put_lea(w, 8, t, addr_at(t, sizeof(struct ip_csent)));
    put_store(w, 8, STATE(cs_top), t);
    put_store_imm64(w, addr_at(t, offsetof(struct ip_csent, retaddr)), u->imm);
    put_store(w, 8, addr_at(t, offsetof(struct ip_csent, above)), IP_RSP);
}

_Static_assert(IP_TR_FULL_BIT < 32, "emit_record tests the low half");

/* The head of a run's record; before it, the way out when the buffer is full. */
static void emit_record(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    int t = u->t0;
    struct stub *s;
    if (u->fl_live) {
        put_load(w, 8, t, STATE(tr_ptr));
        m->literals[m->n_literals].at = put_pext_open(w, t, t);
        m->literals[m->n_literals++].value = 1u << IP_TR_FULL_BIT;
        put_jrcxz(w, JMP_BYTES);
        s = em_add_stub(m, ST_FULL);
        em_to_stub(m, s, CC_ALWAYS);
    } else {
        put_test_imm32(w, STATE(tr_ptr), 1u << IP_TR_FULL_BIT);
        s = em_add_stub(m, ST_FULL);
        em_to_stub(m, s, IP_CC_NZ);
    }
    s->spilled = u->spilled;
    s->insn = u->insn;
    put_load(w, 8, t, STATE(tr_ptr));
    put_store_imm(w, 4, addr_at(t, 0), (uint32_t)u->imm);
    put_store_imm(w, 4, addr_at(t, 4), (uint32_t)u->set);
    put_lea(w, 8, t, addr_at(t, (int64_t)(u->set >> 32)));
    put_store(w, 8, STATE(tr_ptr), t);
    m->record_reg = t;
    em_point(m, u->insn, u->spilled, IP_PF_RECORDED);
}

/* Where records go to t0, if it is not there still. */
static void hold_record_ptr(struct em *m, const struct uinstr *u) {
    if (m->record_reg != u->t0) put_load(&m->w, 8, u->t0, STATE(tr_ptr));
    m->record_reg = u->t0;
}

static void emit_record_word(struct em *m, const struct uinstr *u) {
    hold_record_ptr(m, u);
    put_store(&m->w, 8, addr_at(u->t0, -(int64_t)u->imm), u->m.base);
}

static void emit_record_flag(struct em *m, const struct uinstr *u) {
    struct uaddr to = addr_at(u->t0, -(int64_t)u->imm);
    hold_record_ptr(m, u);
    put_store_imm(&m->w, 8, to, 0);
    put_setz(&m->w, to);
}

static void emit_record_address(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    const struct uaddr *a = &u->m;
    uint64_t known = a->base == IP_REG_RIP ? a->rip_target : a->addr32 ? (uint32_t)a->disp : (uint64_t)a->disp;
    hold_record_ptr(m, u);
    if (uaddr_is_sum(a)) put_address(w, u->reg, *a);
    for (int twice = 0; twice < (u->set ? 2 : 1); twice++) {
        struct uaddr to = addr_at(u->t0, -(int64_t)(twice ? u->set : u->imm));
        if (uaddr_is_sum(a))
            put_store(w, 8, to, u->reg);
        else if (a->base < 16)
            put_store(w, 8, to, a->base);
        else
            put_store_imm64(w, to, known);
    }
}

/* Does the register that holds tr_ptr still do so behind u? */
static void keep_record_reg(struct em *m, const struct uinstr *u, const struct ip_insn *in) {
    int r = m->record_reg;
    if (r == IP_REG_NONE || u->op == U_RECORD || u->op == U_RECWORD || u->op == U_RECZF || u->op == U_RECADDR) return;
    bool kept = (u->op == U_INSN && !u->seg && !(in->gpr_write >> r & 1)) || u->op == U_JCC ||
                ((u->op == U_SPILL || u->op == U_UNSPILL) && u->reg != r) || u->op == U_SEGEA || u->op == U_FAREA;
    if (!kept || u->t0 == r) m->record_reg = IP_REG_NONE;
}

static const struct slow_site to_tracking = {ST_EXIT, IP_X_DIRECT}, to_helper = {ST_TRACK, IP_XS_TRACK},
                              to_overwrite = {ST_OVERWRITE, IP_XS_TRACK}, to_load = {ST_SLOW, IP_XS_LOAD},
                              to_store = {ST_SLOW, IP_XS_STORE};

/* What is loaded and not defined goes on in the tracking translation, without being looked at first. */
static bool leads_to_tracking(const struct em *m) { return (m->o->flags & IP_C_UNDEF) && !(m->b->key & IP_KEY_ONE); }

/* May a signal be delivered before the guest's instruction itself?  Not where its V bits are computed: they would be
 * once more behind the handler, and a shift has shifted them.  A repeated one goes on where it was, however often that
 * is. */
static unsigned boundary(const struct em *m, const struct ip_insn *in, int insn) {
    return m->b->track && m->guarded == insn && !in->rep ? 0 : IP_PF_BOUNDARY;
}

static void emit_uop(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    const struct ip_insn *in = &m->b->insn[u->insn];
    switch (u->op) {
    case U_INSN:
        if (u->seg) {
            emit_gs_insn(m, u, in);
            break;
        }
        em_point(m, u->insn, u->spilled, IP_PF_GUEST | (u->spilled ? 0u : boundary(m, in, u->insn)));
        copy_insn(w, in, u->via_t ? u->t0 : IP_REG_NONE);
        em_point(m, u->insn + 1, u->spilled & ~in->gpr_kill, 0);
        break;
    case U_SEGEA: emit_seg_base(m, u); break;
    case U_FPSAVE: emit_fpsave(m, u); break;
    case U_FAREA: put_mov_imm(w, u->t0, u->imm); break;
    case U_RDSEG: put_load(w, u->size, u->reg, seg_base(u->seg)); break;
    case U_WRSEG: emit_write_base(m, u); break;
    case U_COUNT: em_count(m, u); break;
    case U_TALLY: emit_tally(m, u); break;
    case U_SETNR: put_store_imm64(w, STATE(nraddr), u->imm); break;
    case U_GETNR: put_load(w, 8, IP_RAX, STATE(nraddr)); break;
    case U_JMP:
        if (u->set) em_leave_context(m, IP_CT_JUMP);
        em_direct_exit(m, u->imm, CC_ALWAYS, u->insn);
        break;
    case U_JCC:
        if (u->set && m->counts) {
            em_side(m, u);
        } else if (u->set) {
            struct stub *s = em_add_stub(m, ST_SIDE);
            s->insn = u->insn;
            s->pc = u->imm;
            s->exit = (int)(uint32_t)u->set;
            s->spilled = u->spilled;
            s->size = (uint16_t)(u->set >> 32);
            em_to_stub(m, s, u->kind);
        } else {
            em_direct_exit(m, u->imm, u->kind, u->insn);
        }
        break;
    case U_RECORD: emit_record(m, u); break;
    case U_RECWORD: emit_record_word(m, u); break;
    case U_RECZF: emit_record_flag(m, u); break;
    case U_RECADDR: emit_record_address(m, u); break;
    case U_ARRIVE: em_arrive(m, u); break;
    case U_RUN: em_run(m, u); break;
    case U_TURNS: put_store(w, 8, STATE(ct_turns), IP_RCX); break;
    case U_RECSOME: em_slow_call(m, IP_SYM_SLOW, IP_XS_ADDRESSES, (uint64_t)u->insn, (uint32_t)u->imm); break;
    case U_WATCH: em_slow_call(m, IP_SYM_SLOW, IP_XS_WATCH, (uint64_t)u->insn, 0); break;
    case U_TURNED: em_slow_call(m, IP_SYM_SLOW, IP_XS_REPEATED, u->imm, (uint32_t)u->insn); break;
    case U_LOOPX: emit_loop(m, u, in); break;
    case U_CALL:
        em_point(m, u->insn, 0, IP_PF_GUEST);
        em_push_return(m, u->set);
        em_point(m, u->insn, 0, IP_PF_COMMITTED);
        if (m->counts) em_leave_context(m, IP_CT_CALL);
        m->e->exits[em_direct_exit(m, u->imm, CC_ALWAYS, u->insn)].calls = m->counts && m->run.site ? EXIT_SITED
                                                                                                    : EXIT_CALLS;
        break;
    case U_JMPI:
    case U_CALLI: em_jmpi(m, u); break;
    case U_RET: em_ret(m, u); break;
    case U_EXIT: { /* FAR: transtab.c puts the instruction's description there */
        uint64_t key = u->kind == IP_X_FAR ? (uint64_t)u->insn : u->imm;
        if (m->counts && u->kind == IP_X_NOREDIR) em_leave_context(m, IP_CT_CALL);
        em_leave(m, em_add_exit(m, key, u->kind, (uint32_t)u->set), IP_SYM_EXIT);
        break;
    }
    case U_REQUEST: em_slow_call(m, IP_SYM_REQUEST, IP_X_REQUEST, u->imm, (uint32_t)u->set); break;
    case U_UMASK:
        em_check_mask(m, u, to_tracking);
        m->e->mask = u->set;
        if (u == m->b->u && !u->spilled && !m->b->checked) m->e->unmasked = w->len;
        break;
    case U_TMASK:
        m->guarded = u->insn;
        em_check_mask(m, u, em_may_overwrite(m, u) ? to_overwrite : to_helper);
        break;
    case U_TMEM:
        m->guarded = u->insn;
        em_check_zero(m, u, to_helper);
        break;
    case U_LDCHK: em_check_zero(m, u, leads_to_tracking(m) ? to_tracking : to_load); break;
    case U_EARLY: em_check_zero(m, u, to_tracking); break;
    case U_STCHK: em_check_zero(m, u, to_store); break;
    case U_STKDEF:
        em_point(m, u->insn, u->spilled, IP_PF_SHADOW);
        em_sh_fill(m, u->m, u->size, 0);
        break;
    case U_STKUND:
        em_point(m, u->insn + 1, u->spilled, IP_PF_SHADOW);
        em_sh_fill(m, u->m, u->size, 0xff);
        break;
    case U_SPSAVE: put_store(w, 8, STATE(tmp[0]), IP_RSP); break;
    case U_SPCHG:
        em_slow_call(m, u->imm & SPCHG_RED_ZONE ? IP_SYM_SLOW_LIGHT : IP_SYM_GIVE_BACK, IP_XS_SPCHG,
                     (in->pc + in->len) | (u->imm & SPCHG_RED_ZONE ? IP_KEY_ONE : 0) |
                         (u->imm & SPCHG_LOADED ? IP_KEY_BARE : 0),
                     0);
        break;
    case U_TRACK:
        m->guarded = u->insn;
        em_slow_call(m, IP_SYM_SLOW_LIGHT, IP_XS_TRACK, (uint64_t)u->insn, 0);
        break;
    case U_TJOIN:
        for (int i = m->join_first; i < m->n_stubs; i++)
            if (m->stubs[i].kind == ST_TRACK || m->stubs[i].kind == ST_OVERWRITE) {
                m->stubs[i].resume = w->len;
                m->stubs[i].joined = u->spilled;
            }
        m->join_first = m->n_stubs;
        break;
    case U_CSPUSH: emit_push_entry(m, u); break;
    case U_SPILL:
        save_reg(w, u->reg);
        em_point(m, u->insn + (u->after_insn ? 1 : 0), u->spilled, 0);
        break;
    case U_UNSPILL:
        restore_reg(w, u->reg);
        em_point(m, u->insn + (u->after_insn ? 1 : 0), u->spilled, 0);
        break;
    default: tt_no_code(m->b->key, u->op < U_COUNT_OF ? ip_uops[u->op].text : "uop", u->op);
    }
}

/* ---- Stubs ------------------------------------------------------------------------------------------------ */

void em_save_all(struct writer *w, uint16_t regs) {
    for (int r = 0; r < 16; r++)
        if (regs >> r & 1) save_reg(w, r);
}

void em_restore_all(struct writer *w, uint16_t regs) {
    for (int r = 0; r < 16; r++)
        if (regs >> r & 1) restore_reg(w, r);
}

/* The address that the check could not say is clean, in RCX, whose own value is in its slot; every other guest register
 * is whole.  Most of these stubs never run: what is long is the runtime's. */
static void pass_address(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    if (s->via_t) put_store(w, 8, STATE(acc_addr), s->m.base);
    em_restore_all(w, s->spilled);
    save_reg(w, IP_RCX);
    if (s->via_t)
        put_load(w, 8, IP_RCX, STATE(acc_addr));
    else
        put_address(w, IP_RCX, s->m);
}

/* The address temporary of an instruction did not survive the runtime: make it again. */
static void emit_temp_again(struct em *m, int insn) {
    const struct ublock *b = m->b;
    for (int k = 0; k < b->n_u; k++) {
        if (b->u[k].insn != insn || (b->u[k].op != U_SEGEA && b->u[k].op != U_FAREA)) continue;
        emit_uop(m, &b->u[k]);
        return;
    }
}

/* First stores; returns where the place to go on at is written, which the caller may still change. */
static uint32_t leave_store(struct em *m, const struct stub *s, int x) {
    uint32_t place = em_note_place(m, STATE(target), s->resume);
    unsigned entry = IP_STORES_ANY;
    if (s->size <= 64 && !(s->size & (s->size - 1)))
        entry = (unsigned)__builtin_ctz(s->size) + (s->fl_live ? IP_STORES_FLAGS : 0);
    em_note_exit(m, STATE(exit_id), x);
    put_jmp(&m->w, (uint32_t)m->o->sym[IP_SYM_STORES] + IP_STORES_STEP * entry);
    return place;
}

static void emit_slow_stub(struct em *m, const struct stub *s) {
    uint32_t place = 0;
    int x = em_add_exit(m, m->b->insn[s->insn].pc, s->exit_kind, s->size);
    em_point(m, s->insn, s->spilled, 0);
    pass_address(m, s);
    if (s->exit_kind == IP_XS_STORE)
        place = leave_store(m, s, x);
    else
        em_leave(m, x, IP_SYM_SLOW_LOAD);
    m->e->exits[x].patch_off = s->resume;
    if (s->via_t) {
        m->e->exits[x].patch_off = m->w.len;
        if (place) writer_bind_address(&m->w, place);
        emit_temp_again(m, s->insn);
        put_jmp(&m->w, writer_at(&m->w, s->resume));
    }
}

static uint32_t note_place(struct writer *w, int size, struct uaddr field, uint32_t to) {
    put_store_imm(w, size, field, writer_at(w, to));
    uint32_t at = w->len - 4;
    writer_moves_at(w, at, MOVED_ADDRESS);
    return at;
}

uint32_t em_note_place(struct em *m, struct uaddr field, uint32_t to) { return note_place(&m->w, 8, field, to); }

/* Nothing but the way out is left, where no fault comes and a signal waits until it has been gone: one point will do
 * for all such stubs that follow one another.  (Of runs that are recorded, exits tell where they end.) */
static void leaving_point(struct em *m, int insn) {
    const struct emitted *e = m->e;
    const struct ip_point *p = e->n_points ? &e->points[e->n_points - 1] : NULL;
    if (!p || m->b->trace || p->spilled || p->flags != IP_PF_COMMITTED) em_point(m, insn, 0, IP_PF_COMMITTED);
}

_Static_assert(UB_MAX_INSN < IP_CHECK_ENTRY && IP_CHECK_WHERE == JMP_BYTES - JMP_OPCODE_BYTES, "what follows the jump");

/* The jump out is the one that is patched: there are five of these in a block, and few are ever gone. */
static void leave_check(struct em *m, const struct stub *s) {
    const struct ublock *b = m->b;
    struct writer *w = &m->w;
    bool begins = s->pc == (b->key | IP_KEY_TRACK);
    if (!begins && s->pc != (b->insn[s->insn].pc | IP_KEY_TRACK | IP_KEY_NOREDIR)) {
        em_direct_exit(m, s->pc, CC_ALWAYS, s->insn);
        return;
    }
    align_patch(w, STORE_IMM32_FS_BYTES + JMP_OPCODE_BYTES);
    note_place(w, 4, STATE(exit_id), w->len + STORE_IMM32_FS_BYTES + JMP_OPCODE_BYTES);
    put_jmp_sym(m, IP_SYM_EXIT);
    put_byte(w, begins ? IP_CHECK_ENTRY : (uint8_t)s->insn);
}

static void emit_stub(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    int insn = s->insn;
    writer_bind32(w, s->from);
    switch (s->kind) {
    case ST_EXIT:
        if (s->exit >= 0) {
            m->e->exits[s->exit].stub_off = w->len;
            leaving_point(m, insn + 1);
            em_leave(m, s->exit, IP_SYM_EXIT);
        } else { /* a check that leads on in the tracking translation */
            if (s->spilled)
                em_point(m, insn, s->spilled, 0);
            else
                leaving_point(m, insn);
            em_restore_all(w, s->spilled);
            leave_check(m, s);
        }
        break;
    case ST_SLOW: emit_slow_stub(m, s); break;
    case ST_TRACK: em_track_stub(m, s); break;
    case ST_OVERWRITE: em_overwrite_stub(m, s); break;
    case ST_TARGET: /* the target in RDX */
        em_point(m, insn, s->spilled, 0);
        put_store(w, 8, STATE(acc_addr), IP_RDX);
        put_load(w, 4, IP_RCX, STATE(jump_exit));
        put_store(w, 4, STATE(exit_id), IP_RCX);
        em_restore_all(w, s->spilled);
        put_jmp_sym(m, IP_SYM_EXIT);
        break;
    case ST_FULL:
        em_point(m, insn, s->spilled, 0);
        em_restore_all(w, s->spilled);
        em_point(m, insn, 0, 0);
        em_leave(m, em_add_exit(m, m->b->key, IP_X_FULL, 0), IP_SYM_EXIT);
        break;
    case ST_SIDE: /* fewer instructions than the record says */
        em_point(m, insn + 1, s->spilled, IP_PF_COMMITTED);
        if (!(s->spilled & REG_BIT(IP_RCX))) save_reg(w, IP_RCX);
        em_point(m, insn + 1, s->spilled | REG_BIT(IP_RCX), IP_PF_COMMITTED);
        put_load(w, 8, IP_RCX, STATE(tr_ptr));
        put_store_imm(w, 4, addr_at(IP_RCX, -(int64_t)s->size), (uint32_t)s->exit);
        em_restore_all(w, s->spilled | REG_BIT(IP_RCX));
        em_direct_exit(m, s->pc, CC_ALWAYS, insn);
        break;
    case ST_ARRIVE: em_arrive_stub(m, s); break;
    case ST_LEFT: em_left_stub(m, s); break;
    case ST_RETURN: em_return_stub(m, s); break;
    default: tt_no_code(m->b->key, "stub", s->kind);
    }
}

/* ---- The block -------------------------------------------------------------------------------------------- */

void ip_stage6_emit(const struct ublock *b, struct emitted *e, uint32_t host, uint32_t cold,
                    const struct ip_jit_opts *o) {
    if (!e->work) e->work = ip_alloc(1, sizeof *e->work);
    struct em *m = e->work;
    memset(m, 0, offsetof(struct em, stubs));
    m->n_stubs = m->n_literals = 0;
    m->cur_insn = m->guarded = -1;
    m->record_reg = IP_REG_NONE;
    m->join_first = 0;
    m->w = (struct writer){
        .code = e->code, .cap = EM_MAX_CODE, .base = host, .moved = e->moved, .moved_cap = EM_MAX_MOVED};
    m->e = e;
    m->b = b;
    m->o = o;
    bool bare = (o->flags & IP_C_NO_INSTR) || (b->key & IP_KEY_BARE);
    m->shadow = (o->flags & IP_C_SHADOW) && !bare;
    m->callstack = (o->flags & IP_C_CALLSTACK) && !bare;
    m->callers = (o->flags & IP_C_CALLSTACK) && (b->key & IP_KEY_BARE) && !(o->flags & IP_C_NO_INSTR);
    m->notes_jumps = o->flags & IP_C_JUMPS;
    m->counts = (o->flags & IP_C_COUNT) && b->trace;
    m->gsbase = !(o->flags & IP_C_NO_GSBASE);
    m->bmi2 = o->bmi2;
    e->place = (struct code_place){host, cold, 0};
    e->n_exits = e->n_points = 0;
    e->compare = e->inner = e->unmasked = e->called = e->where = 0;
    e->mask = 0;
    e->overflow = false;
    bool compared = b->checked && !(b->key & IP_KEY_ONE); /* that one was made just now */
    uint32_t stale = compared ? em_stale_exit(m) : 0;
    if (b->key <= INT32_MAX) em_check_entry(m);
    e->entry = m->w.len;
    if (compared) em_recheck(m, stale);
    if ((o->flags & IP_C_COUNT) && !m->counts) em_uncounted(m);
    for (int k = 0; k < b->n_u && !e->overflow && !m->w.overflow; k++) {
        const struct uinstr *u = &b->u[k];
        if (u->insn != m->cur_insn && !u->after_insn) {
            m->cur_insn = u->insn;
            uint16_t s = u->op == U_SPILL ? (uint16_t)(u->spilled & ~(REG_BIT(u->reg))) : u->spilled;
            if (u->op == U_UNSPILL) s = (uint16_t)(u->spilled | REG_BIT(u->reg));
            em_point(m, u->insn, s, s ? 0u : IP_PF_BOUNDARY);
        }
        emit_uop(m, u);
        keep_record_reg(m, u, &b->insn[u->insn]);
    }
    uint32_t main_line = m->w.len;
    if (cold) {
        m->w.cold = main_line;
        m->w.apart = cold - (host + main_line);
    }
    /* Stubs may add direct exits with stubs of their own. */
    for (int i = 0; i < m->n_stubs && !e->overflow && !m->w.overflow; i++) emit_stub(m, &m->stubs[i]);
    while (m->n_literals && writer_here(&m->w) & 7) put_nop(&m->w); /* the guest may have alignment checked */
    for (int i = 0; i < m->n_literals; i++) {
        writer_bind32(&m->w, m->literals[i].at);
        put_u64(&m->w, m->literals[i].value);
    }
    e->len = m->w.len;
    e->place.hot = cold ? main_line : e->len;
    e->n_moved = m->w.n_moved;
    if (m->w.overflow) e->overflow = true;
}

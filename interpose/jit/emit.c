/* Stage 6: machine code, exit stubs, and the table that maps host addresses to
 * guest ones.  The main line comes first, stubs after it.
 */
#include "jit/emit.h"

void em_point(struct em *m, int insn, uint16_t spilled, unsigned flags) {
    struct emitted *e = m->w.e;
    if (e->n_points >= EM_MAX_POINTS) {
        e->overflow = true;
        return;
    }
    struct ip_point *p = &e->points[e->n_points];
    if (e->n_points && p[-1].host_off == e->len)
        p = &e->points[e->n_points - 1];
    else
        e->n_points++;
    p->host_off = (uint16_t)e->len;
    p->guest_off = (uint16_t)insn;
    p->spilled = spilled;
    p->flags = (uint16_t)flags;
}

int em_add_exit(struct em *m, uint64_t key, int kind, uint32_t aux) {
    struct emitted *e = m->w.e;
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
        m->w.e->overflow = true;
        m->n_stubs--;
    }
    struct stub *s = &m->stubs[m->n_stubs++];
    memset(s, 0, sizeof *s);
    s->kind = (uint8_t)kind;
    s->t0 = IP_REG_NONE;
    s->exit = -1;
    return s;
}

/* A rel32 that is patched while the client runs must be written in one piece:
 * keep it inside an aligned quadword.  lead: opcode bytes before it. */
static void align_patch(struct writer *w, int lead) {
    while (((w_here(w) + (uint32_t)lead) & 7) > 4) w1(w, 0x90);
}

/* jmp or jcc (cc >= 0) to a direct exit with its stub. */
void em_direct_exit(struct em *m, uint64_t key, int cc, int insn) {
    struct writer *w = &m->w;
    int x = em_add_exit(m, key, IP_X_DIRECT, 0);
    align_patch(w, cc >= 0 ? 2 : 1);
    if (cc >= 0) {
        w1(w, 0x0f);
        w1(w, 0x80u | (unsigned)cc);
    } else {
        w1(w, 0xe9);
    }
    w->e->exits[x].patch_off = w->e->len;
    struct stub *s = em_add_stub(m, ST_EXIT);
    s->exit = x;
    s->from = w->e->len;
    s->insn = (int16_t)insn;
    w4(w, 0);
}

/* Jump (cc < 0: jmp) to the newest stub. */
void em_to_stub(struct em *m, struct stub *s, int cc) {
    struct writer *w = &m->w;
    if (cc >= 0) {
        w1(w, 0x0f);
        w1(w, 0x80u | (unsigned)cc);
    } else {
        w1(w, 0xe9);
    }
    s->from = w->e->len;
    w4(w, 0);
}

static void emit_seg_base(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    uint32_t off = u->seg == 4 ? OFF(client_fs) : OFF(client_gs);
    int t = u->t0;
    /* lea t, [base + index*scale + disp] with the segment base as one more
     * addend and no flags touched: first whatever does not use t. */
    const struct uaddr *a = &u->m;
    bool absolute = a->base == IP_REG_NONE && a->index == IP_REG_NONE;
    int64_t disp = absolute && a->addr32 ? (int64_t)(uint32_t)a->disp : a->disp;
    if (!u->seg) { /* only a 32-bit address */
        struct uaddr plain = *a;
        plain.addr32 = 0;
        if (absolute) {
            w_mov_imm(w, t, (uint64_t)disp);
            return;
        }
        w1(w, 0x67);
        w_op_mem(w, 0, 4, 0x8d, 0, t, &plain, 0, 0);
        return;
    }
    if (absolute && disp == (int32_t)disp) {
        w_fs(w, FS_LOAD, t, off);
        struct uaddr d = {(uint8_t)t, IP_REG_NONE, 1, 0, disp, 0};
        if (disp) w_lea(w, t, &d);
        return;
    }
    if (absolute || a->addr32 || (a->base != IP_REG_NONE && a->index != IP_REG_NONE) || a->base == IP_REG_RIP ||
        a->base == t || a->index == t) {
        /* t = address; then t += segment base by way of the state (no flags):
         * park t, load the base, lea with the parked value reloaded. */
        struct uaddr plain = *a;
        plain.addr32 = 0;
        if (absolute) {
            w_mov_imm(w, t, (uint64_t)disp);
        } else if (a->base == IP_REG_RIP) {
            w_mov_imm(w, t, a->rip_target);
        } else {
            if (a->addr32) w1(w, 0x67);
            w_op_mem(w, 0, a->addr32 ? 4 : 8, 0x8d, 0, t, &plain, 0, 0);
        }
        w_fs(w, FS_STORE, t, OFF(tmp[1]));
        int r = t == IP_RAX ? IP_RDX : IP_RAX;
        w_fs(w, FS_STORE, r, OFF(tmp[2]));
        w_fs(w, FS_LOAD, r, off);
        struct uaddr sum = {(uint8_t)r, (uint8_t)t, 1, 0, 0, 0};
        w_lea(w, t, &sum);
        w_fs(w, FS_LOAD, r, OFF(tmp[2]));
        return;
    }
    struct uaddr one = *a;
    w_fs(w, FS_LOAD, t, off);
    if (a->base == IP_REG_NONE) {
        one.base = (uint8_t)t;
    } else {
        one.base = a->base;
        one.index = (uint8_t)t;
        one.scale = 1;
    }
    w_lea(w, t, &one);
}

/* Without wrgsbase: by way of the kernel. */
static void emit_gs_call(struct em *m, int insn, unsigned seg) {
    struct writer *w = &m->w;
    int x = em_add_exit(m, m->w.b->insn[insn].pc, IP_XS_GSBASE, seg);
    w_fs_imm32(w, OFF(exit_id), 0);
    w->e->exits[x].id_off = w->e->len - 4;
    w_jmp(w, SYM(w, IP_SYM_SLOW));
    w->e->exits[x].patch_off = w->e->len;
}

/* A signal here steps on until GS is back; a fault finds GS put back by the
 * handler (signal.c, gather). */
static void emit_gs_insn(struct em *m, const struct uinstr *u, const struct ip_insn *in) {
    struct writer *w = &m->w;
    if (m->gsbase) {
        w_fs(w, FS_LOAD, u->t0, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
        w_wrgsbase(w, u->t0);
    } else {
        emit_gs_call(m, u->insn, u->seg);
    }
    em_point(m, u->insn, u->spilled, IP_PF_GUEST);
    ip_copy_gs(w, in);
    em_point(m, u->insn + 1, u->spilled & ~in->gpr_kill, 0);
    if (m->shadow && !m->gsbase) {
        emit_gs_call(m, u->insn, 0);
        em_point(m, u->insn + 1, u->spilled & ~in->gpr_kill, 0);
    } else if (m->shadow) {
        w_mov_imm(w, u->t0, IP_V_CONST - IP_V_DISP);
        w_wrgsbase(w, u->t0);
    }
}

/* wrfsbase, wrgsbase of what may be no address: GS has it for a moment, for the fault.  No register is
 * spilled here. */
static void emit_base_check(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    int t = u->reg == IP_RAX ? IP_RDX : IP_RAX;
    em_point(m, u->insn, 0, IP_PF_GUEST | IP_PF_BOUNDARY);
    w_wrgsbase(w, u->reg);
    if (!m->shadow) return;
    w_fs(w, FS_STORE, t, SLOT(t));
    em_point(m, u->insn, (uint16_t)(1u << t), 0);
    w_mov_imm(w, t, IP_V_CONST - IP_V_DISP);
    w_wrgsbase(w, t);
    w_fs(w, FS_LOAD, t, SLOT(t));
    em_point(m, u->insn, 0, 0);
}

/* The address of what the instruction stored to tstate.acc_addr, then the
 * runtime (rt_x87_saved).  No register is spilled here. */
static void emit_fpsave(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    struct uinstr ea = *u;
    int t = IP_RAX;
    while (u->m.base == t || u->m.index == t) t++;
    ea.t0 = (uint8_t)t;
    w_fs(w, FS_STORE, t, SLOT(t));
    em_point(m, u->insn + 1, (uint16_t)(1u << t), 0);
    if (u->seg) {
        emit_seg_base(m, &ea);
    } else if (ea.m.base == IP_REG_RIP) {
        w_mov_imm(w, t, ea.m.rip_target);
    } else {
        if (u->m.addr32) w1(w, 0x67);
        ea.m.addr32 = 0;
        w_op_mem(w, 0, u->m.addr32 ? 4 : 8, 0x8d, 0, t, &ea.m, 0, 0);
    }
    w_fs(w, FS_STORE, t, OFF(acc_addr));
    w_fs(w, FS_LOAD, t, SLOT(t));
    int x = em_add_exit(m, m->w.b->insn[u->insn].pc, IP_XS_FPSAVE, u->size);
    w_fs_imm32(w, OFF(exit_id), 0);
    w->e->exits[x].id_off = w->e->len - 4;
    w_jmp(w, SYM(w, IP_SYM_SLOW));
    w->e->exits[x].patch_off = w->e->len;
    em_point(m, u->insn + 1, 0, 0);
}

static void emit_uop(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    const struct ip_insn *in = &w->b->insn[u->insn];
    struct slow_site site;
    switch (u->op) {
    case U_INSN:
        if (u->seg) {
            emit_gs_insn(m, u, in);
            break;
        }
        em_point(m, u->insn, u->spilled, IP_PF_GUEST | (u->spilled ? 0u : IP_PF_BOUNDARY));
        ip_copy_insn(w, in, u->via_t ? u->t0 : IP_REG_NONE);
        em_point(m, u->insn + 1, u->spilled & ~in->gpr_kill, 0);
        break;
    case U_SEGEA: emit_seg_base(m, u); break;
    case U_FPSAVE: emit_fpsave(m, u); break;
    case U_FAREA: w_mov_imm(w, u->t0, u->imm); break;
    case U_RDSEG:
        if (u->size == 4)
            w_fs32(w, FS_LOAD, u->reg, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
        else
            w_fs(w, FS_LOAD, u->reg, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
        break;
    case U_WRSEG:
        if (u->size == 8) emit_base_check(m, u);
        if (u->size == 4) w_fs_imm32(w, (u->seg == 4 ? OFF(client_fs) : OFF(client_gs)) + 4, 0);
        if (u->size == 4)
            w_fs32(w, FS_STORE, u->reg, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
        else
            w_fs(w, FS_STORE, u->reg, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
        break;
    case U_COUNT: em_count(m, u); break;
    case U_SETNR:
        if (u->imm < 0x80000000ull) {
            w_fs_imm64(w, OFF(nraddr), (uint32_t)u->imm);
        } else {
            w_fs_imm32(w, OFF(nraddr), (uint32_t)u->imm);
            w_fs_imm32(w, OFF(nraddr) + 4, (uint32_t)(u->imm >> 32));
        }
        break;
    case U_GETNR: w_fs(w, FS_LOAD, IP_RAX, OFF(nraddr)); break;
    case U_JMP: em_direct_exit(m, u->imm, -1, u->insn); break;
    case U_JCC: em_direct_exit(m, u->imm, u->kind, u->insn); break;
    case U_LOOPX:
        /* loop rel8 -> +2; jmp over; direct exit.  The fallback of xbegin likewise. */
        if (in->flow == IP_F_XBEGIN) {
            em_point(m, u->insn, u->spilled, IP_PF_GUEST | IP_PF_BOUNDARY);
            wn(w, "\xc7\xf8\x02\x00\x00\x00", 6);
        } else {
            for (int k = 0; k < in->len - 1; k++)
                if (in->bytes[k] != 0x66 || k >= in->off_opcode) w1(w, in->bytes[k]); /* 66 would cut our target */
            w1(w, 2);
        }
        w1(w, 0xeb);
        w1(w, 0);
        {
            uint32_t fix = w->e->len - 1;
            em_direct_exit(m, u->imm, -1, u->insn);
            w->e->code[fix] = (uint8_t)(w->e->len - fix - 1);
        }
        break;
    case U_CALL:
        em_point(m, u->insn, 0, IP_PF_GUEST);
        em_push_return(m, u->set);
        em_point(m, u->insn, 0, IP_PF_COMMITTED);
        em_direct_exit(m, u->imm, -1, u->insn);
        break;
    case U_JMPI:
    case U_CALLI: em_jmpi(m, u); break;
    case U_RET: em_ret(m, u); break;
    case U_EXIT: /* FAR: transtab.c puts the instruction's description there */
        em_runtime_exit(m, u->kind == IP_X_FAR ? (uint64_t)u->insn : u->imm, u->kind, (uint32_t)u->set);
        break;
    case U_UMASK:
        site.kind = ST_EXIT;
        site.exit_kind = IP_X_DIRECT;
        em_check_mask(m, u, &site);
        break;
    case U_TMASK:
        site.kind = ST_TRACK;
        site.exit_kind = IP_XS_TRACK;
        em_check_mask(m, u, &site);
        break;
    case U_TMEM:
        site.kind = ST_TRACK;
        site.exit_kind = IP_XS_TRACK;
        em_check_zero(m, u, &site);
        break;
    case U_LDCHK:
        site.kind = ST_SLOW;
        site.exit_kind = IP_XS_LOAD;
        em_check_zero(m, u, &site);
        break;
    case U_EARLY:
        site.kind = ST_EXIT;
        site.exit_kind = IP_X_DIRECT;
        em_check_zero(m, u, &site);
        break;
    case U_STCHK:
        site.kind = ST_SLOW;
        site.exit_kind = IP_XS_STORE;
        em_check_zero(m, u, &site);
        break;
    case U_STKDEF:
        em_point(m, u->insn, u->spilled, IP_PF_SHADOW);
        em_sh_fill(w, &u->m, u->size, 0);
        break;
    case U_STKUND:
        em_point(m, u->insn + 1, u->spilled, IP_PF_SHADOW);
        em_sh_fill(w, &u->m, u->size, 0xff);
        break;
    case U_SPSAVE: w_fs(w, FS_STORE, IP_RSP, OFF(tmp[0])); break;
    case U_SPCHG:
        em_slow_call(m, u, IP_XS_SPCHG,
                     (in->pc + in->len) | (u->imm & SPCHG_RED_ZONE ? IP_KEY_ONE : 0) |
                         (u->imm & SPCHG_LOADED ? IP_KEY_BARE : 0));
        break;
    case U_TRACK: em_slow_call(m, u, IP_XS_TRACK, (uint64_t)u->insn); break;
    case U_TJOIN:
        for (int i = m->join_first; i < m->n_stubs; i++)
            if (m->stubs[i].kind == ST_TRACK) m->stubs[i].resume = w->e->len;
        m->join_first = m->n_stubs;
        break;
    case U_CSPUSH: {
        int t = u->t0;
        struct uaddr up = {(uint8_t)t, IP_REG_NONE, 1, 0, 16, 0};
        struct uaddr at = {(uint8_t)t, IP_REG_NONE, 1, 0, 0, 0};
        struct uaddr at8 = {(uint8_t)t, IP_REG_NONE, 1, 0, 8, 0};
        struct uaddr slot = {IP_RSP, IP_REG_NONE, 1, 0, -8, 0};
        struct uaddr hi = {(uint8_t)t, IP_REG_NONE, 1, 0, 4, 0};
        w_fs(w, FS_LOAD, t, OFF(cs_top));
        w_lea(w, t, &up);
        w_fs(w, FS_STORE, t, OFF(cs_top));
        if (u->imm < 0x80000000ull) {
            w_op_mem(w, 0, 8, 0xc7, 0, 0, &at, 0, 4);
            w4(w, (uint32_t)u->imm);
        } else {
            w_op_mem(w, 0, 4, 0xc7, 0, 0, &at, 0, 4);
            w4(w, (uint32_t)u->imm);
            w_op_mem(w, 0, 4, 0xc7, 0, 0, &hi, 0, 4);
            w4(w, (uint32_t)(u->imm >> 32));
        }
        w_lea(w, IP_RSP, &slot);
        w_op_mem(w, 0, 8, 0x89, 0, IP_RSP, &at8, 0, 0);
        slot.disp = 8;
        w_lea(w, IP_RSP, &slot);
        w_op_mem(w, 0, 8, 0xf7, 0, 2, &at8, 0, 0); /* not qword [t+8]: no flags */
        break;
    }
    case U_SPILL:
        w_fs(w, FS_STORE, u->reg, SLOT(u->reg));
        em_point(m, u->insn + (u->after_insn ? 1 : 0), u->spilled, 0);
        break;
    case U_UNSPILL:
        w_fs(w, FS_LOAD, u->reg, SLOT(u->reg));
        em_point(m, u->insn + (u->after_insn ? 1 : 0), u->spilled, 0);
        break;
    default: w->e->overflow = true; break;
    }
}

static void bind_here(struct em *m, uint32_t from) {
    struct writer *w = &m->w;
    uint32_t rel = w->e->len - (from + 4);
    memcpy(w->e->code + from, &rel, 4);
}

static void unspill_all(struct writer *w, uint16_t regs) {
    for (int r = 0; r < 16; r++)
        if (regs >> r & 1) w_fs(w, FS_LOAD, r, SLOT(r));
}

static void emit_stub(struct em *m, struct stub *s) {
    struct writer *w = &m->w;
    struct emitted *e = w->e;
    int insn = s->insn;
    if (s->kind == ST_EXIT && s->exit >= 0) {
        e->exits[s->exit].stub_off = e->len;
        bind_here(m, s->from);
        em_point(m, insn + 1, 0, IP_PF_COMMITTED);
        em_id_and_jump(m, s->exit, IP_SYM_EXIT);
        return;
    }
    bind_here(m, s->from);
    switch (s->kind) {
    case ST_EXIT: /* entry test failed: on in the tracking translation */
        em_point(m, insn, s->spilled, 0);
        unspill_all(w, s->spilled);
        em_direct_exit(m, s->pc, -1, insn);
        break;
    case ST_SLOW: {
        int x = em_add_exit(m, w->b->insn[insn].pc, s->exit_kind, s->size);
        em_point(m, insn, s->spilled, 0);
        if (s->via_t) {
            w_fs(w, FS_STORE, s->m.base, OFF(acc_addr));
            unspill_all(w, s->spilled);
        } else {
            unspill_all(w, s->spilled);
            int t = s->m.base == IP_RCX || s->m.index == IP_RCX ? IP_RAX : IP_RCX;
            if (s->m.base == t || s->m.index == t) t = IP_RDX;
            w_fs(w, FS_STORE, t, SLOT(t));
            struct uaddr a = s->m;
            a.addr32 = 0;
            if (s->m.addr32) w1(w, 0x67);
            w_op_mem(w, 0, s->m.addr32 ? 4 : 8, 0x8d, 0, t, &a, 0, 0);
            w_fs(w, FS_STORE, t, OFF(acc_addr));
            w_fs(w, FS_LOAD, t, SLOT(t));
        }
        em_id_and_jump(m, x, s->exit_kind == IP_XS_STORE ? IP_SYM_SLOW_STORE : IP_SYM_SLOW_LIGHT);
        e->exits[x].patch_off = s->resume;
        if (s->via_t) {
            /* The address temporary did not survive: make it again. */
            e->exits[x].patch_off = e->len;
            const struct ublock *b = w->b;
            for (int k = 0; k < b->n_u; k++)
                if (b->u[k].insn == insn && (b->u[k].op == U_SEGEA || b->u[k].op == U_FAREA)) {
                    if (b->u[k].op == U_SEGEA)
                        emit_seg_base(m, &b->u[k]);
                    else
                        w_mov_imm(w, b->u[k].t0, b->u[k].imm);
                    break;
                }
            w_jmp(w, w->host + s->resume);
        }
        break;
    }
    case ST_TRACK: {
        int x = em_add_exit(m, (uint64_t)insn, IP_XS_TRACK, s->size);
        em_point(m, insn, s->spilled, 0);
        unspill_all(w, s->spilled);
        em_id_and_jump(m, x, IP_SYM_SLOW_LIGHT);
        e->exits[x].patch_off = s->resume;
        break;
    }
    case ST_MISS:
        em_point(m, 0, 6, IP_PF_COMMITTED);
        wn(w, "\x48\x8d\x89", 3); /* lea rcx, [rcx + pc] */
        w4(w, (uint32_t)w->b->key);
        w_jmp(w, SYM(w, IP_SYM_INDIRECT_MISS));
        break;
    case ST_TARGET: /* the target in RDX */
        em_point(m, insn, s->spilled, 0);
        w_fs(w, FS_STORE, IP_RDX, OFF(acc_addr));
        w_fs32(w, FS_LOAD, IP_RCX, OFF(jump_exit));
        w_fs32(w, FS_STORE, IP_RCX, OFF(exit_id));
        unspill_all(w, s->spilled);
        w_jmp(w, SYM(w, IP_SYM_EXIT));
        break;
    case ST_CSYNC:
    case ST_REDZONE:
        w_fs_imm64(w, OFF(resume), w->host + s->resume);
        w_jmp(w, SYM(w, s->kind == ST_CSYNC ? IP_SYM_CS_SYNC : IP_SYM_RED_ZONE));
        break;
    default: e->overflow = true; break;
    }
}

void ip_stage6_emit(const struct ublock *b, struct emitted *e, uint32_t host, const struct ip_jit_opts *o) {
    static _Thread_local struct em m;
    memset(&m, 0, offsetof(struct em, stubs));
    m.n_stubs = m.n_literals = 0;
    m.cur_insn = -1;
    m.join_first = 0;
    m.w.e = e;
    m.w.b = b;
    m.w.o = o;
    m.w.host = host;
    bool bare = (o->flags & IP_C_NO_INSTR) || (b->key & IP_KEY_BARE);
    m.shadow = (o->flags & IP_C_SHADOW) && !bare;
    m.callstack = (o->flags & IP_C_CALLSTACK) && !bare;
    m.callers = (o->flags & IP_C_CALLSTACK) && (b->key & IP_KEY_BARE) && !(o->flags & IP_C_NO_INSTR);
    m.exact = o->flags & IP_C_EXACT;
    m.gsbase = !(o->flags & IP_C_NO_GSBASE);
    m.bmi2 = __builtin_cpu_supports("bmi2") != 0;
    e->len = 0;
    e->host = host;
    e->n_exits = e->n_points = 0;
    e->compare = 0;
    e->overflow = false;
    bool compared = b->checked && !(b->key & IP_KEY_ONE); /* that one was made just now */
    uint32_t stale = compared ? em_stale_exit(&m) : 0;
    if (b->key < 0x80000000ull) em_check_entry(&m);
    e->entry = e->len;
    if (compared) em_recheck(&m, stale);
    for (int k = 0; k < b->n_u && !e->overflow; k++) {
        const struct uinstr *u = &b->u[k];
        if (u->insn != m.cur_insn && !u->after_insn) {
            m.cur_insn = u->insn;
            uint16_t s = u->op == U_SPILL ? (uint16_t)(u->spilled & ~(1u << u->reg)) : u->spilled;
            if (u->op == U_UNSPILL) s = (uint16_t)(u->spilled | 1u << u->reg);
            em_point(&m, u->insn, s, s ? 0u : IP_PF_BOUNDARY);
        }
        emit_uop(&m, u);
    }
    /* Stubs may add direct exits with stubs of their own. */
    for (int i = 0; i < m.n_stubs && !e->overflow; i++) emit_stub(&m, &m.stubs[i]);
    while (m.n_literals && w_here(&m.w) & 7) w1(&m.w, 0x90); /* the guest may have alignment checked */
    for (int i = 0; i < m.n_literals; i++) {
        bind_here(&m, m.literals[i].at);
        w8(&m.w, m.literals[i].value);
    }
    if (e->len > 0xfff0) e->overflow = true;
}

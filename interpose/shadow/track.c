/* Tracking: entry, operands, memory, control flow, and the rule for everything
 * that has no rule of its own. */
#include "shadow/origin.h"

#define MAX_REST 64 /* instructions of a block behind one whose address is undefined */

/* ---- registers ------------------------------------------------------------------ */

static void mark(struct tk *t, unsigned bit, bool undefined) {
    if (undefined)
        t->ts->umask |= 1ull << bit;
    else
        t->ts->umask &= ~(1ull << bit);
}

void tk_set_gpr(struct tk *t, unsigned r, u64 u) {
    t->ts->vgpr[r] = u;
    mark(t, IP_U_GPR0 + r, u);
}

void tk_set_flags(struct tk *t, u8 u) {
    t->ts->vflags = u;
    mark(t, IP_U_FLAGS, u);
}

void tk_set_k(struct tk *t, unsigned r, u64 u) {
    u64 any = 0;
    t->ts->vk[r] = u;
    for (unsigned i = 0; i < 8; i++) any |= t->ts->vk[i];
    mark(t, IP_U_K, any);
}

void tk_set_mmx(struct tk *t, unsigned r, u64 u) {
    t->ts->vmmx[r] = u;
    mark(t, IP_U_MMX0 + r, u);
}

void tk_set_vec(struct tk *t, unsigned r, const u8 *v, unsigned n, bool zero_upper) {
    u8 *to = t->ts->vvec + 64 * r;
    memcpy(to, v, n);
    if (zero_upper) memset(to + n, 0, 64 - n);
    mark(t, IP_U_VEC0 + r, !tk_zero(to, 64));
}

u64 tk_flag(struct tk *t, u64 bit) { return t->ts->rflags & bit ? 1 : 0; }

/* ---- reports ---------------------------------------------------------------------- */

void tk_report_value(struct tk *t, unsigned size) {
    if (!(rt.flags & IP_C_UNDEF)) return;
    struct ip_error *e = rt_error_begin(t->ts, IP_E_VALUE);
    e->size = size;
    e->otag = t->origin;
    rt_error_end(t->ts, e);
}

void tk_report_cond(struct tk *t) {
    if (!(rt.flags & IP_C_UNDEF)) return;
    struct ip_error *e = rt_error_begin(t->ts, IP_E_COND);
    e->otag = t->origin;
    rt_error_end(t->ts, e);
}

/* As under Valgrind, where what is tested is a temporary: the register itself, if it is the whole address, which counts
 * as defined in the rest of its block only; a sum otherwise, which is told once in a block, and the register and all
 * that is computed of it stay undefined.  Like Valgrind's, the block goes on behind a direct jump or call: where a
 * function begins by saving the register, what it saves counts as defined. */
static bool goes_on(const struct ip_insn *in) { return in->flow == IP_F_JMP || in->flow == IP_F_CALL; }

/* After which instruction the block ends that `in` at pc is of; 0: too far away. *regs: those that nothing writes. */
static u64 block_end(const struct ip_insn *in, u64 pc, u16 *regs) {
    struct ip_insn next;
    *regs &= (u16)~in->gpr_write;
    if (in->flow != IP_F_NEXT) return pc;
    for (unsigned i = 0; i < MAX_REST; i++, in = &next, *regs &= (u16)~in->gpr_write) {
        pc = goes_on(in) ? in->target : pc + in->len;
        if (!tk_fetch(pc, &next)) return 0;
        if (next.flow != IP_F_NEXT && !goes_on(&next)) return pc;
    }
    return 0;
}

/* How many tests are noted of the block that ends there: those of another one are of no use any more. */
static unsigned noted(const struct tstate *ts, u64 end) {
    return ts->umask >> IP_U_TESTED & 1 && ts->tested_end == end ? ts->tested_n : 0;
}

/* Until the block ends: r was tested, the number of a register and by 16 the logarithm of what it is multiplied by. Its
 * bits u are undefined again then, if it has this value; without such bits the value is the pc of the test, behind
 * which r is what was told until it is written. */
static void note_tested(struct tstate *ts, unsigned r, u64 value, u64 u, u64 end) {
    unsigned n = noted(ts, end), i = 0;
    while (i < n && (u || ts->tested_u[i] || ts->tested_reg[i] != r)) i++;
    if (i == sizeof ts->tested_reg) return;
    ts->tested_reg[i] = (u8)r;
    ts->tested_value[i] = value;
    ts->tested_u[i] = u;
    ts->tested_n = (u8)(i < n ? n : n + 1);
    ts->tested_end = end;
    ts->umask |= 1ull << IP_U_TESTED;
}

static bool is_written(u64 from, u64 pc, unsigned r) {
    struct ip_insn in;
    for (unsigned i = 0; i < MAX_REST && from != pc; i++) {
        if (!tk_fetch(from, &in) || in.gpr_write >> (r & 15) & 1) return true;
        from = goes_on(&in) ? in.target : from + in.len;
    }
    return from != pc;
}

static bool was_told(const struct tstate *ts, unsigned r, u64 end) {
    for (unsigned i = 0; i < noted(ts, end); i++)
        if (ts->tested_reg[i] == r && !ts->tested_u[i]) return !is_written(ts->tested_value[i], ts->pc & IP_KEY_PC, r);
    return false;
}

void tk_block_ends(struct tstate *ts) {
    ts->umask &= ~(1ull << IP_U_TESTED);
    if (ts->tested_end != (ts->pc & IP_KEY_PC)) return; /* a signal's handler came between, say */
    for (unsigned i = 0; i < ts->tested_n; i++) {
        unsigned r = ts->tested_reg[i];
        if (!ts->tested_u[i] || ts->gpr[r] != ts->tested_value[i]) continue;
        ts->vgpr[r] |= ts->tested_u[i];
        ts->umask |= 1ull << (IP_U_GPR0 + r);
    }
}

/* Of regs, those that are undefined in their lower size bytes; what made the last of them is the origin. */
static u16 undefined_of(struct tk *t, u16 regs, unsigned size) {
    u16 found = 0;
    for (unsigned r = 0; r < 16; r++) {
        if (!(regs >> r & 1) || !(t->ts->vgpr[r] & tk_mask(size))) continue;
        found |= (u16)(1u << r);
        if (origins_kept()) t->origin = origin_of_gpr(t->ts, r);
    }
    return found;
}

void tk_check_gprs(struct tk *t, u16 regs, unsigned size) {
    u16 bad = undefined_of(t, regs, size), stays = bad & (u16) ~(1u << IP_RSP);
    bool is_new = false;
    if (!bad) return;
    u64 end = block_end(t->in, t->ts->pc & IP_KEY_PC, &stays);
    for (unsigned r = 0; r < 16; r++) {
        if (!(bad >> r & 1)) continue;
        u64 u = t->ts->vgpr[r];
        is_new = is_new || !was_told(t->ts, r, end);
        tk_set_gpr(t, r, 0);
        if (end && stays >> r & 1) note_tested(t->ts, r, t->ts->gpr[r], u, end);
    }
    if (is_new) tk_report_value(t, 8);
}

/* The same for what an address is the sum of. */
static void check_sum(struct tk *t, u16 regs, unsigned size) {
    const struct ip_mem *m = &t->in->mem;
    u16 bad = undefined_of(t, regs, size), none = 0;
    bool is_new = false;
    if (!bad) return;
    u64 pc = t->ts->pc & IP_KEY_PC, end = block_end(t->in, pc, &none);
    for (unsigned r = 0; r < 16; r++) {
        unsigned as = r == m->index ? r | (unsigned)__builtin_ctz(m->scale) << 4 : r;
        if (!(bad >> r & 1) || was_told(t->ts, as, end)) continue;
        is_new = true;
        if (end && end != pc) note_tested(t->ts, as, pc, 0, end);
    }
    /* Once and for all: each call and return would be told, and Valgrind's stack pointer counts as defined. */
    if (bad >> IP_RSP & 1) tk_set_gpr(t, IP_RSP, 0);
    if (is_new) tk_report_value(t, 8);
}

/* ---- memory ------------------------------------------------------------------------ */

u64 tk_seg_base(const struct tk *t) { return rt_seg_base(t->ts, t->in->mem.seg); }

u64 tk_ea_raw(struct tk *t) {
    const struct ip_mem *m = &t->in->mem;
    u64 a = (u64)m->disp;
    if (t->ea_known) return t->ea;
    if (m->base < 16)
        a += t->ts->gpr[m->base];
    else if (m->base == IP_REG_RIP)
        a = m->rip_target;
    if (m->index < 16 && !m->vsib) a += t->ts->gpr[m->index] * m->scale;
    if (tk_in_bit_string(t->in)) {
        unsigned n = t->in->ops[1].size;
        a += (u64)((i64)tk_sext(t->ts->gpr[t->in->ops[1].reg] & tk_mask(n), n) >> 3);
    }
    if (m->addr32) a = (u32)a;
    return a + tk_seg_base(t);
}

u64 tk_ea(struct tk *t) {
    const struct ip_mem *m = &t->in->mem;
    u16 regs = 0;
    if (t->ea_known) return t->ea;
    if (m->base < 16) regs |= (u16)(1u << m->base);
    if (m->index < 16 && !m->vsib) regs |= (u16)(1u << m->index);
    if (m->index < 16 || m->disp || m->addr32)
        check_sum(t, regs, m->addr32 ? 4 : 8);
    else
        tk_check_gprs(t, regs, 8);
    t->ea = tk_ea_raw(t);
    t->ea_known = true;
    return t->ea;
}

/* What an invalid read got from there is told by now: defined from here on.  The rest is as it is. */
static void drop_unaddressable(struct tk *t, u64 at, unsigned n, u8 *v) {
    for (unsigned i = 0; i < n; i++)
        if (!sh_addressable(t->ts, at + i)) v[i] = 0;
}

void tk_load(struct tk *t, u64 at, unsigned n, u8 *v) {
    int acc = sh_access_load(t->ts, at, n, v);
    if ((acc & SH_ACC_UNADDR) && !sh_partial_ok(at, n, acc)) {
        sh_report_access(t->ts, IP_E_READ, at, n);
        t->told = at;
        t->told_n = n;
        drop_unaddressable(t, at, n, v);
    }
    if (!(rt.flags & IP_C_UNDEF)) memset(v, 0, n);
}

void tk_load_elements(struct tk *t, u64 at, unsigned n, u8 *v) {
    tk_load(t, at, n, v);
    if (origins_kept()) origin_from_elements(t, at, n);
}

/* What an instruction accesses under a mask is one error, from the first element that is bad to the last. */
struct bad_part {
    u64 first, end;
};

static void join_bad(struct bad_part *bad, u64 at, unsigned n) {
    if (!bad->end) bad->first = at;
    bad->end = at + n;
}

void tk_load_masked(struct tk *t, u64 at, unsigned n, unsigned es, u64 k, u8 *v) {
    struct bad_part bad = {0, 0};
    memset(v, 0, n);
    for (unsigned i = 0; i < n; i += es) {
        if (!(k >> i / es & 1)) continue;
        int acc = sh_access_load(t->ts, at + i, es, v + i);
        if (origins_kept()) origin_from_elements(t, at + i, es);
        if (!(acc & SH_ACC_UNADDR) || sh_partial_ok(at + i, es, acc)) continue;
        join_bad(&bad, at + i, es);
        drop_unaddressable(t, at + i, es, v + i);
    }
    if (bad.end) {
        t->told = bad.first;
        t->told_n = (unsigned)(bad.end - bad.first);
        sh_report_access(t->ts, IP_E_READ, t->told, t->told_n);
    }
    if (!(rt.flags & IP_C_UNDEF)) memset(v, 0, n);
}

static void store_addressable(struct tk *t, u64 at, unsigned n, const u8 *v) {
    for (unsigned i = 0; i < n; i++)
        if (sh_addressable(t->ts, at + i)) *(volatile u8 *)sh_v(at + i) = v[i];
}

void tk_store(struct tk *t, u64 at, unsigned n, const u8 *v) {
    int acc = sh_access(t->ts, at, n, NULL);
    if (!(acc & SH_ACC_UNADDR)) {
        memcpy((void *)sh_v(at), v, n);
        if (t->in->flow == IP_F_NEXT && !(t->in->gpr_write >> IP_RSP & 1)) /* not a push */
            sh_note_red_zone(t->ts, at);
        return;
    }
    /* What an instruction reads and writes is one error, as in clean code, whose check is that of the load. */
    if (t->told_n < n || at - t->told > t->told_n - n) sh_report_store(t->ts, at, n);
    store_addressable(t, at, n, v);
}

void tk_store_elements(struct tk *t, u64 at, unsigned n, const u8 *v) {
    tk_store(t, at, n, v);
    if (origins_kept()) origin_to_elements(t, at, n);
}

void tk_store_masked(struct tk *t, u64 at, unsigned n, unsigned es, u64 k, const u8 *v) {
    struct bad_part bad = {0, 0};
    for (unsigned i = 0; i < n; i += es) {
        if (!(k >> i / es & 1)) continue;
        if (sh_access(t->ts, at + i, es, NULL) & SH_ACC_UNADDR) {
            join_bad(&bad, at + i, es);
            store_addressable(t, at + i, es, v + i);
        } else
            tk_store(t, at + i, es, v + i);
        if (origins_kept()) origin_to_elements(t, at + i, es);
    }
    if (bad.end) sh_report_access(t->ts, IP_E_WRITE, bad.first, bad.end - bad.first);
}

u64 tk_load8(struct tk *t, u64 at, unsigned n) {
    u64 u = 0;
    tk_load(t, at, n, (u8 *)&u);
    return u;
}

void tk_store8(struct tk *t, u64 at, unsigned n, u64 u) { tk_store(t, at, n, (const u8 *)&u); }

void tk_value(u64 at, unsigned n, void *out) {
    if (rt_copy_from(out, at, n) < 0)
        for (unsigned i = 0; i < n; i++)
            if (rt_copy_from((u8 *)out + i, at + i, 1) < 0) ((u8 *)out)[i] = 0;
}

/* ---- integer operands ---------------------------------------------------------------- */

tkval tk_rd(struct tk *t, unsigned i) {
    const struct ip_operand *op = &t->in->ops[i];
    tkval x = {0, 0};
    u64 m = tk_mask(op->size);
    if (op->kind == IP_OP_GPR) {
        unsigned shift = op->high8 ? 8 : 0;
        x.v = t->ts->gpr[op->reg] >> shift & m;
        x.u = t->ts->vgpr[op->reg] >> shift & m;
        return x;
    }
    switch (op->kind) {
    case IP_OP_MEM:
        x.u = tk_load8(t, tk_ea(t), op->size > 8 ? 8 : op->size);
        tk_value(tk_ea(t), op->size > 8 ? 8 : op->size, &x.v);
        break;
    case IP_OP_IMM: x.v = (u64)(i && t->in->ops[i - 1].kind == IP_OP_IMM ? t->in->imm2 : t->in->imm); break;
    case IP_OP_MMX: x.u = t->ts->vmmx[op->reg]; break;
    default: break;
    }
    return x;
}

void tk_wr(struct tk *t, unsigned i, u64 u) {
    const struct ip_operand *op = &t->in->ops[i];
    u64 m = tk_mask(op->size);
    u &= m;
    if (op->kind == IP_OP_GPR) {
        u64 old = t->ts->vgpr[op->reg];
        if (op->size == 8)
            ;
        else if (op->size == 4) /* zero-extends */
            ;
        else if (op->high8)
            u = (old & ~0xff00ull) | u << 8;
        else
            u = (old & ~m) | u;
        tk_set_gpr(t, op->reg, u);
    } else if (op->kind == IP_OP_MEM) {
        tk_store8(t, tk_ea(t), op->size, u);
    }
}

/* ---- control flow --------------------------------------------------------------------- */

static void target_checked(struct tk *t, unsigned i) {
    tkval x = tk_rd(t, i);
    if (x.u) tk_report_value(t, 8);
}

static void count_checked(struct tk *t) {
    if (t->ts->vgpr[IP_RCX] & tk_mask(t->in->mem.addr32 ? 4 : 8)) {
        tk_report_cond(t);
        tk_set_gpr(t, IP_RCX, 0);
    }
}

static void pair_checked(struct tk *t, u8 bit) {
    if (t->ts->vflags & bit) {
        if (t->in->flow == IP_F_JCC && (tk_branches_meet(t->ts, t->in) || tk_branch_joined(t->ts, t->in))) return;
        tk_report_cond(t);
        tk_set_flags(t, t->ts->vflags & (u8)~bit);
    }
}

static bool flow(struct tk *t) {
    const struct ip_insn *in = t->in;
    u64 sp = t->ts->gpr[IP_RSP];
    bool leaves = in->flow == IP_F_CALL || in->flow == IP_F_CALLI || in->flow == IP_F_RET;
    if (leaves && (t->ts->umask >> IP_U_REDZONE & 1)) sh_clean_red_zone(t->ts);
    switch (in->flow) {
    case IP_F_JCC: pair_checked(t, (u8)(1u << (in->cc >> 1))); return true;
    case IP_F_LOOP:
        count_checked(t);
        if (in->mnem == IP_MN_LOOPE || in->mnem == IP_MN_LOOPNE) pair_checked(t, TK_Z);
        return true;
    case IP_F_JMP: return true;
    case IP_F_JMPI: target_checked(t, 0); return true;
    case IP_F_CALLI:
        target_checked(t, 0);
        /* fall through */
    case IP_F_CALL:
        tk_check_gprs(t, 1u << IP_RSP, 8);
        tk_store8(t, sp - 8, 8, 0);
        return true;
    case IP_F_RET:
        tk_check_gprs(t, 1u << IP_RSP, 8);
        if (tk_load8(t, sp, 8)) {
            tk_report_value(t, 8);
            tk_store8(t, sp, 8, 0);
        }
        return true;
    case IP_F_SYSCALL: /* arguments and results: syscall_check.c */
        tk_set_gpr(t, IP_RCX, 0);
        tk_set_gpr(t, IP_R11, 0);
        return true;
    case IP_F_NEXT: return false;
    default: /* traps, far and privileged instructions: nothing flows */ return true;
    }
}

/* ---- everything else ----------------------------------------------------------------------- */

static unsigned widest(const struct ip_insn *in, unsigned width) {
    for (unsigned i = 0; i < in->n_ops; i++)
        if (in->ops[i].kind == IP_OP_VEC && in->ops[i].size > width) width = in->ops[i].size;
    return width;
}

/* The memory operand under a write mask: size of its elements, and *k, those that take
 * part (a broadcast element does if any one does).  0: no mask, or all is accessed. */
static unsigned masked_elements(struct tk *t, u64 *k) {
    const struct ip_insn *in = t->in;
    unsigned es = 0, n = in->mem.size;
    for (unsigned i = 0; !es && i < in->n_ops; i++) es = in->ops[i].esize;
    if (!in->evex_k || !es || !n || n > 64) return 0;
    unsigned count = widest(in, 16) / es;
    *k = tk_k_value(t, in->evex_k) & (count < 64 ? (1ull << count) - 1 : ~0ull);
    if (in->mem.bcast) *k = *k != 0;
    return in->mem.bcast || n == es || n < count ? n : n / count;
}

static bool any_input(struct tk *t) {
    const struct ip_insn *in = t->in;
    const struct tstate *ts = t->ts;
    bool any = false;
    u8 v[64];
    unsigned width = widest(in, 16);
    for (unsigned r = 0; r < 16; r++) any |= (in->gpr_read >> r & 1) && ts->vgpr[r];
    for (unsigned r = 0; r < 32; r++) any |= (in->vec_read >> r & 1) && !tk_zero(ts->vvec + 64 * r, width);
    for (unsigned r = 0; r < 8; r++) {
        any |= (in->k_read >> r & 1) && ts->vk[r];
        any |= (in->mmx_read >> r & 1) && ts->vmmx[r];
    }
    any |= tk_fl_word(ts->vflags) & in->fl_read & IP_FL_ARITH;
    if (in->mem.present && (in->mem.access & IP_ACC_R)) {
        unsigned n = in->mem.size;
        u64 on = ~0ull;
        unsigned es = masked_elements(t, &on);
        for (unsigned at = 0; at < n; at += 64) {
            unsigned k = n - at < 64 ? n - at : 64;
            tk_load_masked(t, tk_ea(t) + at, k, es ? es : k, on, v);
            any |= !tk_zero(v, k);
        }
    }
    return any;
}

/* Any undefined bit of any input makes every output undefined. */
static void fallback(struct tk *t) {
    const struct ip_insn *in = t->in;
    struct tstate *ts = t->ts;
    u8 ones[64];
    if (in->mem.present && !(in->mem.access & IP_ACC_ADDR)) tk_ea(t);
    bool any = any_input(t);
    memset(ones, any ? 0xff : 0, sizeof ones);
    u16 named = 0;
    for (unsigned i = 0; i < in->n_ops; i++) {
        const struct ip_operand *op = &in->ops[i];
        if (op->kind == IP_OP_GPR && (op->access & IP_ACC_W)) {
            u64 old = op->access & IP_ACC_COND ? ts->vgpr[op->reg] : 0;
            named |= (u16)(1u << op->reg);
            tk_wr(t, i, any ? ~0ull : old);
        }
    }
    for (unsigned r = 0; r < 16; r++)
        if ((in->gpr_write & ~named) >> r & 1 && r != IP_RSP)
            tk_set_gpr(t, r, any ? ~0ull : in->gpr_kill >> r & 1 ? 0 : ts->vgpr[r]);
    unsigned width = widest(in, in->vlen < 16 ? 16 : in->vlen);
    for (unsigned r = 0; r < 32; r++) {
        if (!(in->vec_write >> r & 1)) continue;
        bool reads = in->vec_read >> r & 1;
        if (any || !reads) /* read and nothing undefined: it is defined already */
            tk_set_vec(t, r, ones, width, in->enc != IP_ENC_LEGACY);
    }
    for (unsigned r = 0; r < 8; r++) {
        if (in->k_write >> r & 1) tk_set_k(t, r, any ? ~0ull : 0);
        if (in->mmx_write >> r & 1) tk_set_mmx(t, r, any ? ~0ull : 0);
    }
    if (in->fl_write & IP_FL_ARITH) {
        u64 u = tk_fl_word(ts->vflags) & ~(u64)in->fl_kill;
        if (any) u |= in->fl_write;
        tk_set_flags(t,
                     any && (in->fl_write & IP_FL_ARITH) == IP_FL_ARITH ? TK_ALL : tk_fl_of_bits(0, u & IP_FL_ARITH));
    }
    if (in->mem.present && (in->mem.access & IP_ACC_W)) {
        u64 on = ~0ull;
        unsigned es = masked_elements(t, &on), n = in->mem.size;
        if (es) tk_store_masked(t, tk_ea(t), n, es, on, ones);
        for (unsigned at = 0; !es && at < n; at += 64) tk_store(t, tk_ea(t) + at, n - at < 64 ? n - at : 64, ones);
    }
}

void rt_track_insn(struct tstate *ts, const struct ip_insn *in) {
    struct tk t = {.ts = ts, .in = in};
    sh_stack_sync(ts);
    if (ts->umask >> IP_U_TAKES & 1) sh_take_stack(ts, in);
    if (origins_kept()) origin_begin(&t);
    if (!(flow(&t) || tk_int(&t) || tk_bits(&t) || tk_string(&t) || tk_state_image(&t) || tk_kmask(&t) || tk_vec(&t) ||
          tk_x87(&t)))
        fallback(&t);
    if ((ts->umask >> IP_U_TESTED & 1) && in->flow != IP_F_NEXT && in->flow != IP_F_CALL) tk_block_ends(ts);
    if (origins_kept()) origin_end(&t);
}

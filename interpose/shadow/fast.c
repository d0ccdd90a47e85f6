/* The frequent slow paths, answered without the full exit: moves of undefined
 * data that assembly leaves (moves.S) and arithmetic with them in tracking translations, RSP going up by
 * much.  entry.S (rt_light_stub) has stored the guest's registers; it restores
 * only those that C may change, so nothing here may alter them in the state.
 * Whatever needs a report, a lock or patience is left to rt_slow: return 0.
 */
#include "abi/inline/described.h"
#include "jit/x86_decode.h"
#include "runtime/base/peek.h"
#include "runtime/core/core.h"
#include "shadow/origin.h"
#include "shadow/shadow.h"
#include "shadow/track.h"

int rt_light(struct tstate *ts);
int rt_origin_move(struct tstate *ts);

static inline bool on_stack(const struct tstate *ts, u64 at) { return at >= ts->stack_lo && at < ts->stack_hi; }
/* Of such an address: are n bytes from there on the program's? */
static inline bool stack_is_used(const struct tstate *ts, u64 at, u64 n) {
    return !ts->stack_shared && at + SH_REDZONE >= ts->gpr[IP_RSP] && n <= ts->stack_hi - at;
}

/* Of the stack A bits tell what the program has closed (MAKE_MEM_NOACCESS). */
static bool addressable(const struct tstate *ts, u64 addr, u32 n) {
    if (on_stack(ts, addr) ? !stack_is_used(ts, addr, n) : sh_dead_elsewhere(ts, addr, n)) return false;
    if (n == 32) return !(rt_peek64(sh_a(addr), ~0ull) >> (addr & 7) & 0xffffffff);
    u32 mask = n >= 25 ? 0 : (1u << n) - 1;
    return mask && !(rt_peek32(sh_a(addr), ~0u) & mask << (addr & 7));
}

static void set_umask(struct tstate *ts, u32 bit, bool on) {
    u64 m = 1ull << bit;
    ts->umask = on ? ts->umask | m : ts->umask & ~m;
}

static void set_gpr(struct tstate *ts, u32 r, u64 v, u32 origin) {
    ts->vgpr[r] = v;
    set_umask(ts, IP_U_GPR0 + r, v != 0);
    if (v && origin) origin_tags(ts)->gpr[r] = origin;
}

/* Of what a register holds: 0 if that is defined, or no origins are kept. */
static u32 gpr_origin(struct tstate *ts, u32 r) {
    return origins_kept() && ts->vgpr[r] ? origin_newer(0, origin_tags(ts)->gpr[r]) : 0;
}

static u32 vec_origin(struct tstate *ts, u32 r) {
    bool undefined = ts->umask >> (IP_U_VEC0 + r) & 1;
    return origins_kept() && undefined ? origin_newer(0, origin_tags(ts)->vec[r]) : 0;
}

/* Address of the ModRM operand; its registers must be defined. */
static bool address(const struct tstate *ts, const struct ip_insn *in, u64 *out) {
    const struct ip_mem *m = &in->mem;
    if (m->seg || m->addr32 || m->vsib || (ts->umask & in->addr_read)) return false;
    if (m->base == IP_REG_RIP) {
        *out = m->rip_target;
        return true;
    }
    u64 a = (u64)m->disp;
    if (m->base < 16) a += ts->gpr[m->base];
    if (m->index < 16) a += ts->gpr[m->index] * m->scale;
    *out = a;
    return true;
}

struct vbits {
    u64 w[4];
    u32 origin; /* 0: none is kept */
};

/* V bits of memory; what is addressable has them. */
static inline bool load_at(struct tstate *ts, u64 at, u32 n, struct vbits *v) {
    if (!addressable(ts, at, n)) return false;
    u64 p = sh_v(at);
    v->w[0] = v->w[1] = v->w[2] = v->w[3] = 0;
    switch (n) {
    case 1: v->w[0] = *(const u8 *)p; break;
    case 2: v->w[0] = *(const u16 *)p; break;
    case 4: v->w[0] = *(const u32 *)p; break;
    case 8:
    case 16:
    case 32:
        for (u32 i = 0; i < n / 8; i++) v->w[i] = ((const u64 *)p)[i];
        break;
    default: return false;
    }
    v->origin = origins_kept() ? origin_loaded(ts, at, n, v->w) : 0;
    return true;
}

static bool load(struct tstate *ts, const struct ip_insn *in, u32 n, struct vbits *v) {
    u64 at;
    return address(ts, in, &at) && load_at(ts, at, n, v);
}

static inline bool store_at(struct tstate *ts, u64 at, u32 n, const struct vbits *v) {
    if (!addressable(ts, at, n)) return false;
    u64 p = sh_v(at);
    sh_note_red_zone(ts, at);
    switch (n) {
    case 1: *(u8 *)p = (u8)v->w[0]; break;
    case 2: *(u16 *)p = (u16)v->w[0]; break;
    case 4: *(u32 *)p = (u32)v->w[0]; break;
    case 8:
    case 16:
    case 32:
        for (u32 i = 0; i < n / 8; i++) ((u64 *)p)[i] = v->w[i];
        break;
    default: return false;
    }
    if (v->origin) origin_stored(ts, at, n, v->w, v->origin);
    return true;
}

static bool store(struct tstate *ts, const struct ip_insn *in, u32 n, const struct vbits *v) {
    u64 at;
    return address(ts, in, &at) && store_at(ts, at, n, v);
}

static u64 low(u64 v, u32 n) { return n >= 8 ? v : v & ((1ull << 8 * n) - 1); }

/* ---- Moves ------------------------------------------------------------------------- */

static bool move_gpr(struct tstate *ts, const struct ip_insn *in) {
    const struct ip_operand *d = &in->ops[0], *s = &in->ops[1];
    struct vbits v = {{0}, 0};
    if (d->high8 || s->high8) return false;
    if (s->kind == IP_OP_MEM) {
        if (d->kind != IP_OP_GPR || d->size < 4 || !load(ts, in, s->size, &v)) return false;
    } else if (s->kind == IP_OP_GPR) {
        v.w[0] = low(ts->vgpr[s->reg], s->size);
        v.origin = gpr_origin(ts, s->reg);
    } else if (s->kind != IP_OP_IMM) {
        return false;
    }
    if (d->kind == IP_OP_MEM) return store(ts, in, d->size, &v);
    if (d->kind != IP_OP_GPR || d->size < 4) return false;
    set_gpr(ts, d->reg, v.w[0], v.origin);
    return true;
}

static bool extend_gpr(struct tstate *ts, const struct ip_insn *in, bool sign) {
    const struct ip_operand *d = &in->ops[0], *s = &in->ops[1];
    struct vbits v = {{0}, 0};
    if (d->kind != IP_OP_GPR || d->size < 4 || s->high8) return false;
    if (s->kind == IP_OP_MEM) {
        if (!load(ts, in, s->size, &v)) return false;
    } else if (s->kind == IP_OP_GPR) {
        v.w[0] = low(ts->vgpr[s->reg], s->size);
        v.origin = gpr_origin(ts, s->reg);
    } else {
        return false;
    }
    if (sign && s->size < 8 && v.w[0] >> (8 * s->size - 1)) v.w[0] |= ~0ull << 8 * s->size;
    set_gpr(ts, d->reg, low(v.w[0], d->size), v.origin);
    return true;
}

static u64 *vec(struct tstate *ts, u32 r) { return (u64 *)(void *)&ts->vvec[64 * r]; }

/* n bytes of v into a vector register; clear: bytes up to which zero follows. */
static inline void set_vec(struct tstate *ts, u32 r, const struct vbits *v, u32 n, u32 clear) {
    u64 *p = vec(ts, r), any = 0;
#pragma GCC unroll 8
    for (u32 i = 0; i < 8; i++) {
        u64 w = i < n / 8 ? v->w[i & 3] : i < clear / 8 ? 0 : p[i];
        if (i < n / 8 || i < clear / 8) p[i] = w;
        any |= w;
    }
    set_umask(ts, IP_U_VEC0 + r, any != 0);
    if (v->origin) origin_tags(ts)->vec[r] = v->origin;
}

static bool move_vec(struct tstate *ts, const struct ip_insn *in) {
    const struct ip_operand *d = &in->ops[0], *s = &in->ops[1];
    u32 n = d->kind == IP_OP_MEM ? d->size : s->size;
    struct vbits v;
    if (in->n_ops != 2 || in->evex_k || (n != 16 && n != 32)) return false;
    if (s->kind == IP_OP_MEM) {
        if (!load(ts, in, n, &v)) return false;
    } else if (s->kind == IP_OP_VEC) {
        const u64 *p = vec(ts, s->reg);
        for (u32 i = 0; i < 4; i++) v.w[i] = p[i];
        v.origin = vec_origin(ts, s->reg);
    } else {
        return false;
    }
    if (d->kind == IP_OP_MEM) return store(ts, in, n, &v);
    if (d->kind != IP_OP_VEC) return false;
    set_vec(ts, d->reg, &v, n, in->enc == IP_ENC_LEGACY ? n : 64);
    return true;
}

/* movd, movq between vector registers, memory and general registers. */
static bool move_low(struct tstate *ts, const struct ip_insn *in) {
    const struct ip_operand *d = &in->ops[0], *s = &in->ops[1];
    u32 n = in->mnem == IP_MN_MOVD || in->mnem == IP_MN_VMOVD ? 4 : 8;
    struct vbits v = {{0}, 0};
    if (in->n_ops != 2) return false;
    if (s->kind == IP_OP_MEM) {
        if (!load(ts, in, n, &v)) return false;
    } else if (s->kind == IP_OP_VEC) {
        v.w[0] = low(vec(ts, s->reg)[0], n);
        v.origin = vec_origin(ts, s->reg);
    } else if (s->kind == IP_OP_GPR) {
        v.w[0] = low(ts->vgpr[s->reg], n);
        v.origin = gpr_origin(ts, s->reg);
    } else {
        return false;
    }
    if (d->kind == IP_OP_MEM) return store(ts, in, n, &v);
    if (d->kind == IP_OP_VEC) {
        set_vec(ts, d->reg, &v, 8, in->enc == IP_ENC_LEGACY ? 16 : 64);
        return true;
    }
    if (d->kind != IP_OP_GPR) return false;
    set_gpr(ts, d->reg, v.w[0], v.origin);
    return true;
}

/* Not in the red zone: RSP follows. */
static bool push_at(struct tstate *ts, u64 at, u32 r) {
    if (!addressable(ts, at, 8)) return false;
    u64 v = ts->vgpr[r];
    *(u64 *)sh_v(at) = v;
    if (v && origins_kept()) origin_stored(ts, at, 8, &v, gpr_origin(ts, r));
    return true;
}

/* ---- Moves of which the guard's stub has told all, where origins are kept (rt_origin_moves_stub) -------------- */

static inline bool load_gpr(struct tstate *ts, u64 at, u32 n, bool sign, u64 mask, u32 r) {
    struct vbits v;
    if (!load_at(ts, at, n, &v)) return false;
    if (sign && v.w[0] >> (8 * n - 1)) v.w[0] |= ~0ull << 8 * n;
    set_gpr(ts, r, v.w[0] & mask, v.origin);
    return true;
}

static inline bool store_gpr(struct tstate *ts, u64 at, u32 n, u32 r) {
    struct vbits v = {{low(ts->vgpr[r], n)}, gpr_origin(ts, r)};
    return store_at(ts, at, n, &v);
}

static inline bool load_vec(struct tstate *ts, u64 at, u32 n, u32 clear, u32 r) {
    struct vbits v;
    if (!load_at(ts, at, n, &v)) return false;
    set_vec(ts, r, &v, n, clear);
    return true;
}

static inline bool store_vec(struct tstate *ts, u64 at, u32 n, u32 r) {
    struct vbits v = {.origin = vec_origin(ts, r)};
    const u64 *p = vec(ts, r);
#pragma GCC unroll 4
    for (u32 i = 0; i < n / 8; i++) v.w[i] = p[i];
    return store_at(ts, at, n, &v);
}

static inline bool load_low(struct tstate *ts, u64 at, u32 n, u32 clear, u32 r) {
    struct vbits v;
    if (!load_at(ts, at, n, &v)) return false;
    set_vec(ts, r, &v, 16, clear);
    return true;
}

static inline bool store_low(struct tstate *ts, u64 at, u32 n, u32 r) {
    const struct vbits v = {{low(vec(ts, r)[0], n)}, vec_origin(ts, r)};
    return store_at(ts, at, n, &v);
}

static bool told_move(struct tstate *ts, enum ip_move kind, u64 at, u32 r) {
    switch (kind) {
    case IP_MV_LOAD1: return load_gpr(ts, at, 1, false, ~0ull, r);
    case IP_MV_LOAD2: return load_gpr(ts, at, 2, false, ~0ull, r);
    case IP_MV_LOAD4: return load_gpr(ts, at, 4, false, ~0ull, r);
    case IP_MV_LOAD8: return load_gpr(ts, at, 8, false, ~0ull, r);
    case IP_MV_SX1_4: return load_gpr(ts, at, 1, true, ~0u, r);
    case IP_MV_SX1_8: return load_gpr(ts, at, 1, true, ~0ull, r);
    case IP_MV_SX2_4: return load_gpr(ts, at, 2, true, ~0u, r);
    case IP_MV_SX2_8: return load_gpr(ts, at, 2, true, ~0ull, r);
    case IP_MV_SX4_8: return load_gpr(ts, at, 4, true, ~0ull, r);
    case IP_MV_STORE1: return store_gpr(ts, at, 1, r);
    case IP_MV_STORE2: return store_gpr(ts, at, 2, r);
    case IP_MV_STORE4: return store_gpr(ts, at, 4, r);
    case IP_MV_STORE8: return store_gpr(ts, at, 8, r);
    case IP_MV_PUSH: return push_at(ts, at, r);
    case IP_MV_VLOAD16: return load_vec(ts, at, 16, 16, r);
    case IP_MV_VLOAD16_ZERO: return load_vec(ts, at, 16, 64, r);
    case IP_MV_VLOAD32: return load_vec(ts, at, 32, 64, r);
    case IP_MV_VSTORE16: return store_vec(ts, at, 16, r);
    case IP_MV_VSTORE32: return store_vec(ts, at, 32, r);
    case IP_MV_VLOAD4: return load_low(ts, at, 4, 16, r);
    case IP_MV_VLOAD8: return load_low(ts, at, 8, 16, r);
    case IP_MV_VLOAD4_ZERO: return load_low(ts, at, 4, 64, r);
    case IP_MV_VLOAD8_ZERO: return load_low(ts, at, 8, 64, r);
    case IP_MV_VSTORE4: return store_low(ts, at, 4, r);
    case IP_MV_VSTORE8: return store_low(ts, at, 8, r);
    default: return false;
    }
}

static bool push(struct tstate *ts, const struct ip_insn *in) {
    if (in->ops[0].kind != IP_OP_GPR || in->opsize == 2 || (ts->umask >> IP_RSP & 1)) return false;
    return push_at(ts, ts->gpr[IP_RSP] - 8, in->ops[0].reg);
}

/* What the stack gives back is marked by the translation. */
static bool pop(struct tstate *ts, const struct ip_insn *in) {
    u64 sp = ts->gpr[IP_RSP];
    if (in->ops[0].kind != IP_OP_GPR || in->opsize == 2 || in->ops[0].reg == IP_RSP) return false;
    if ((ts->umask >> IP_RSP & 1) || !addressable(ts, sp, 8)) return false;
    u64 v = *(const u64 *)sh_v(sp);
    set_gpr(ts, in->ops[0].reg, v, v && origins_kept() ? origin_loaded(ts, sp, 8, &v) : 0);
    return true;
}

/* Of a known target, with bytes below RSP that are marked defined: they are given up. */
static bool call(struct tstate *ts, const struct ip_insn *in) {
    u64 sp = ts->gpr[IP_RSP];
    if (in->mem.present || (ts->umask & (in->gpr_read | 1ull << IP_U_TAKES))) return false;
    if (sp <= ts->stack_lo || sp > ts->stack_hi || !addressable(ts, sp - 8, 8)) return false;
    if (ts->umask >> IP_U_REDZONE & 1) sh_clean_red_zone(ts);
    *(u64 *)sh_v(sp - 8) = 0;
    return true;
}

/* ---- String instructions, forwards: DF takes the full exit -------------------------------- */

#define MOST_BYTES 2048 /* beyond, the full exit is a small part of it */

static bool all_addressable(const struct tstate *ts, u64 at, u64 n) {
    if (on_stack(ts, at)) return stack_is_used(ts, at, n);
    if (at < ts->stack_lo && at + n > ts->stack_lo) return false;
    for (u64 end = at + n, next; at < end; at = next) {
        next = (at | 7) + 25; /* a word has the bits of these at least, wherever it begins */
        if (next > end) next = end;
        u32 mask = next - at < 32 ? (1u << (next - at)) - 1 : ~0u;
        if (rt_peek32(sh_a(at), ~0u) & mask << (at & 7)) return false;
    }
    return true;
}

/* The bytes that the instruction is about to store to are addressable, and no chunk ends in them (settle.c). */
static bool may_store(struct tstate *ts, u64 at, u64 n) {
    if (sh_piece(at, n + 1) <= n || !all_addressable(ts, at, n)) return false;
    sh_note_red_zone(ts, at);
    return true;
}

static bool string(struct tstate *ts, const struct ip_insn *in, u32 size, bool moves) {
    u64 from = ts->gpr[IP_RSI], to = ts->gpr[IP_RDI], n = size, u = moves ? 0 : low(ts->vgpr[IP_RAX], size);
    u64 defined = 1ull << IP_RDI | (moves ? 1ull << IP_RSI : 0) | (in->rep ? 1ull << IP_RCX : 0);
    if (in->mem.seg || in->mem.addr32 || (ts->umask & defined)) return false;
    if (in->rep) {
        if (!ts->gpr[IP_RCX]) return true;
        if (ts->gpr[IP_RCX] > MOST_BYTES / size || u) return false;
        n *= ts->gpr[IP_RCX];
    }
    if (moves && (!all_addressable(ts, from, n) || (in->rep && to + n > from && from + n > to))) return false;
    if (!may_store(ts, to, n)) return false;
    if (!in->rep && moves) memcpy(&u, (const void *)sh_v(from), size);
    if (!in->rep)
        memcpy((void *)sh_v(to), &u, size);
    else if (moves)
        sh_copy(sh_v(to), sh_v(from), n);
    else
        sh_fill(sh_v(to), 0, n);
    return true;
}

/* ---- Arithmetic ---------------------------------------------------------------------- */

/* Operands in general registers, immediates, and memory of which nothing is to be reported. */
static bool plain_operands(struct tk *t) {
    const struct ip_insn *in = t->in;
    if (in->flow != IP_F_NEXT || in->vec_read || in->vec_write || in->mmx_read || in->mmx_write ||
        (in->gpr_write >> IP_RSP & 1))
        return false;
    for (u32 i = 0; i < in->n_ops; i++) {
        const struct ip_operand *op = &in->ops[i];
        if (op->kind == IP_OP_GPR || op->kind == IP_OP_IMM) continue;
        if (op->kind != IP_OP_MEM || op->size > 8) return false;
        if (in->mem.access & IP_ACC_ADDR) continue;
        if (!address(t->ts, in, &t->ea) || !addressable(t->ts, t->ea, op->size)) return false;
        t->ea_known = true;
    }
    return true;
}

/* The memory operand of those below, if it is the program's (at: where). */
static bool plain_memory(struct tstate *ts, const struct ip_insn *in, u32 n, u64 *at, tkval *value, u32 *origin) {
    struct vbits v;
    if (!address(ts, in, at) || !load_at(ts, *at, n, &v)) return false;
    *value = (tkval){0, v.w[0]};
    tk_value(*at, n, &value->v);
    *origin = v.origin;
    return true;
}

/* The second operand of those below: a register, an immediate, or memory that is the program's. */
static bool plain_source(struct tstate *ts, const struct ip_insn *in, u32 n, tkval *b, u32 *origin) {
    const struct ip_operand *s = &in->ops[1];
    if (s->kind == IP_OP_MEM) {
        u64 at;
        u32 of_memory;
        if (s->size != n || !plain_memory(ts, in, n, &at, b, &of_memory)) return false;
        if (of_memory) *origin = origin_newer(*origin, of_memory);
        return true;
    }
    if (s->kind == IP_OP_IMM) {
        *b = (tkval){low((u64)in->imm, n), 0};
        return true;
    }
    if (s->kind != IP_OP_GPR || s->high8 || (in->ops[0].kind == IP_OP_GPR && s->reg == in->ops[0].reg)) return false;
    *b = (tkval){low(ts->gpr[s->reg], n), low(ts->vgpr[s->reg], n)};
    if (ts->vgpr[s->reg] && origins_kept()) *origin = origin_newer(*origin, origin_tags(ts)->gpr[s->reg]);
    return true;
}

/* An operand of those below, a register or memory that is the program's (at: where). */
static bool plain_operand(struct tstate *ts, const struct ip_insn *in, const struct ip_operand *d, u64 *at, tkval *a,
                          u32 *origin) {
    u32 n = d->size;
    if (d->kind == IP_OP_MEM) return plain_memory(ts, in, n, at, a, origin);
    if (d->kind != IP_OP_GPR || d->high8 || d->reg == IP_RSP) return false;
    *a = (tkval){low(ts->gpr[d->reg], n), low(ts->vgpr[d->reg], n)};
    *origin = gpr_origin(ts, d->reg);
    return true;
}

static void set_flags(struct tstate *ts, u8 f, u32 origin) {
    if (origin) origin_tags(ts)->flags = origin;
    ts->vflags = f;
    set_umask(ts, IP_U_FLAGS, f);
}

static enum tk_shift shift_of(u32 mnem) { return mnem == IP_MN_SHL ? TK_SHL : mnem == IP_MN_SHR ? TK_SHR : TK_SAR; }

/* Sums, logic and shifts of a general register or a word of memory, which meet undefined bits most: with nothing but
 * what they need. */
static bool plain(struct tstate *ts, const struct ip_insn *in) {
    const struct ip_operand *d = &in->ops[0];
    u32 n = d->size, origin;
    u64 at;
    tkval a, b, r;
    const tkval none = {0, 0};
    u8 f;
    if (n > 8 || in->n_ops > 2 || !plain_operand(ts, in, d, &at, &a, &origin)) return false;
    if (in->n_ops == 2 && !plain_source(ts, in, n, &b, &origin)) return false;
    switch (in->mnem) {
    case IP_MN_AND:
    case IP_MN_TEST: r = tk_and(a, b); break;
    case IP_MN_OR: r = tk_or(a, b); break;
    case IP_MN_XOR: r = tk_xor(a, b); break;
    case IP_MN_ADD: f = tk_fl_add(a, b, none, n, &r.u); goto flags;
    case IP_MN_SUB:
    case IP_MN_CMP: f = tk_fl_sub(a, b, none, n, &r.u); goto flags;
    case IP_MN_ADC:
    case IP_MN_SBB: {
        tkval c = {ts->rflags & IP_FL_CF, ts->vflags & TK_B ? 1 : 0};
        if (c.u && origins_kept()) origin = origin_newer(origin, origin_tags(ts)->flags);
        f = in->mnem == IP_MN_ADC ? tk_fl_add(a, b, c, n, &r.u) : tk_fl_sub(a, b, c, n, &r.u);
        goto flags;
    }
    case IP_MN_INC:
    case IP_MN_DEC:
        f = tk_fl_step(a, in->mnem == IP_MN_DEC, n, ts->vflags & TK_B, ts->rflags & IP_FL_CF, &r.u);
        goto flags;
    case IP_MN_SHL:
    case IP_MN_SHR:
    case IP_MN_SAR: {
        u64 k = in->n_ops == 2 ? b.v & (n == 8 ? 63 : 31) : 1;
        if (!k || (in->n_ops == 2 && in->ops[1].kind != IP_OP_IMM)) return false;
        f = tk_fl_shift(a, (unsigned)k, shift_of(in->mnem), n, &r.u);
        goto flags;
    }
    default: return false;
    }
    f = r.u ? tk_fl_logic(r.v, r.u, n) : 0;
flags:
    if (in->mnem != IP_MN_TEST && in->mnem != IP_MN_CMP) {
        const struct vbits v = {{r.u}, origin};
        if (d->kind == IP_OP_GPR)
            set_gpr(ts, d->reg, n >= 4 ? r.u : (ts->vgpr[d->reg] & ~low(~0ull, n)) | r.u, origin);
        else if (!store_at(ts, at, n, &v))
            return false;
    }
    set_flags(ts, f, origin);
    return true;
}

/* mul and mulx, of which long numbers are made. */
static bool plain_product(struct tstate *ts, const struct ip_insn *in) {
    bool chain = in->mnem == IP_MN_MULX; /* leaves the flags */
    const struct ip_operand *s = &in->ops[chain ? 2 : 0];
    u32 n = s->size, with = chain ? IP_RDX : IP_RAX, origin = gpr_origin(ts, with), other;
    u32 to_low = chain ? in->ops[1].reg : IP_RAX, to_high = chain ? in->ops[0].reg : IP_RDX;
    u64 at, high, u;
    if (n < 4 || to_low == IP_RSP || to_high == IP_RSP) return false;
    tkval a = {ts->gpr[with], ts->vgpr[with]}, b;
    if (!plain_operand(ts, in, s, &at, &b, &other)) return false;
    if (!low(a.u | b.u, n)) return false; /* of the flags something may have been undefined, and stay so */
    if (other) origin = origin_newer(origin, other);
    u = tk_product(a, b, n, &high, false);
    set_gpr(ts, to_low, u, origin);
    set_gpr(ts, to_high, high, origin); /* the high half wins when both are one register */
    if (chain) return true;
    set_flags(ts, TK_ALL, origin);
    return true;
}

/* A sum of one or two registers, which may be undefined, and a number; what is no double of one bit's place. */
static bool plain_lea(struct tstate *ts, const struct ip_insn *in) {
    const struct ip_mem *m = &in->mem;
    const struct ip_operand *d = &in->ops[0];
    if (m->base >= 16 || (m->base == m->index && m->scale == 1) || m->addr32 || d->size < 4 || d->reg == IP_RSP)
        return false;
    tkval a = {ts->gpr[m->base], ts->vgpr[m->base]}, disp = {(u64)m->disp, 0};
    u32 origin = gpr_origin(ts, m->base);
    if (m->index < 16) {
        tkval i = {ts->gpr[m->index] * m->scale, ts->vgpr[m->index] * m->scale};
        if (i.u && origins_kept()) origin = origin_newer(origin, origin_tags(ts)->gpr[m->index]);
        a = tk_sum(a, i);
    }
    if (m->disp) a = tk_sum(a, disp);
    set_gpr(ts, d->reg, low(a.u, d->size), origin);
    return true;
}

/* bt and its like in memory, whose address hangs on the bit's number: all is defined, and stays so. */
static bool bit_string(struct tk *t) {
    const struct ip_insn *in = t->in;
    if (in->mem.seg || in->mem.addr32 || (t->ts->umask & (in->gpr_read | 1ull << IP_U_FLAGS))) return false;
    u64 at = tk_ea_raw(t);
    if (!addressable(t->ts, at, 1) || *(const u8 *)sh_v(at)) return false;
    sh_note_red_zone(t->ts, at);
    return true;
}

/* Of registers, immediates and memory that is the program's nothing is to be reported. */
static bool vectors(struct tk *t) {
    const struct ip_insn *in = t->in;
    if (in->n_ops < 2 || in->flow != IP_F_NEXT || in->evex_k || in->mmx_read || in->mmx_write || in->k_write ||
        in->fl_read || (in->gpr_write >> IP_RSP & 1))
        return false;
    for (u32 i = 0; i < in->n_ops; i++) {
        const struct ip_operand *op = &in->ops[i];
        if (op->kind == IP_OP_VEC || op->kind == IP_OP_GPR || (i && op->kind == IP_OP_IMM)) continue;
        if (op->kind != IP_OP_MEM || in->mem.bcast || (in->mem.access & (IP_ACC_COND | IP_ACC_ADDR))) return false;
        if (!address(t->ts, in, &t->ea) || !addressable(t->ts, t->ea, op->size)) return false;
        t->ea_known = true;
    }
    return tk_vec(t);
}

/* The x87's, but for what sets how it computes, and images of its state, of which something may be to be reported. */
static bool x87(struct tk *t) {
    const struct ip_insn *in = t->in;
    if (in->mnem == IP_MN_FLDCW || in->mmx_read || in->mmx_write) return false;
    if (in->mem.present) {
        if (in->mem.size > 10 || !address(t->ts, in, &t->ea) || !addressable(t->ts, t->ea, in->mem.size)) return false;
        t->ea_known = true;
    }
    return tk_x87(t);
}

static bool arithmetic(struct tk *t) {
    const struct ip_insn *in = t->in;
    if (in->x87) return x87(t);
    if (in->vec_read || in->vec_write) return vectors(t);
    switch (in->mnem) {
    case IP_MN_ADD:
    case IP_MN_ADC:
    case IP_MN_ADCX:
    case IP_MN_ADOX:
    case IP_MN_SUB:
    case IP_MN_SBB:
    case IP_MN_CMP:
    case IP_MN_AND:
    case IP_MN_OR:
    case IP_MN_XOR:
    case IP_MN_TEST:
    case IP_MN_INC:
    case IP_MN_DEC:
    case IP_MN_NEG:
    case IP_MN_NOT:
    case IP_MN_LEA:
    case IP_MN_BSWAP:
    case IP_MN_MOVBE:
    case IP_MN_MUL:
    case IP_MN_IMUL:
    case IP_MN_MULX:
    case IP_MN_DIV:
    case IP_MN_IDIV:
    case IP_MN_CBW:
    case IP_MN_CWDE:
    case IP_MN_CDQE:
    case IP_MN_CWD:
    case IP_MN_CDQ:
    case IP_MN_CQO: return plain_operands(t) && tk_int(t);
    case IP_MN_SHL:
    case IP_MN_SHR:
    case IP_MN_SAR:
    case IP_MN_ROL:
    case IP_MN_ROR:
    case IP_MN_RCL:
    case IP_MN_RCR:
    case IP_MN_SHLD:
    case IP_MN_SHRD:
    case IP_MN_BSF:
    case IP_MN_BSR:
    case IP_MN_TZCNT:
    case IP_MN_LZCNT:
    case IP_MN_POPCNT:
    case IP_MN_ANDN:
    case IP_MN_BLSR:
    case IP_MN_BLSI:
    case IP_MN_BLSMSK:
    case IP_MN_SHLX:
    case IP_MN_SHRX:
    case IP_MN_SARX:
    case IP_MN_RORX: return plain_operands(t) && tk_bits(t);
    case IP_MN_BT:
    case IP_MN_BTS:
    case IP_MN_BTR:
    case IP_MN_BTC: return tk_in_bit_string(in) ? bit_string(t) : plain_operands(t) && tk_bits(t);
    default: return in->cc != 0xff && in->enc == IP_ENC_LEGACY && plain_operands(t) && tk_int(t);
    }
}

/* IP_U_TAKES, and nothing else to be done: the bytes are in the V page of RSP's, which exists. */
static bool take_stack(struct tstate *ts, const struct ip_insn *in) {
    u64 lo, hi, set = in->gpr_read | 1ull << IP_U_REDZONE | (in->fl_write ? 1ull << IP_U_FLAGS : 0);
    bool target = in->flow == IP_F_CALLI && in->mem.present;
    if ((ts->umask & set) || target || !sh_stack_taken(ts, in, &lo, &hi)) return false;
    if (lo < ts->stack_lo || (sh_v(lo) ^ sh_v(ts->gpr[IP_RSP])) >= RT_PAGE) return false;
    u64 ones = ~0ull, all = ones, was;
    for (; hi - lo >= 8; lo += 8) {
        memcpy(&was, (const void *)sh_v(lo), 8);
        memcpy((void *)sh_v(lo), &ones, 8);
        all &= was;
    }
    for (; lo < hi; lo++) *(volatile u8 *)sh_v(lo) = 0xff;
    if (all == ones)
        sh_stack_calm(ts);
    else
        ts->stack_calm = 0;
    return true;
}

/* What carries its origins itself, as far as they are kept. */
enum settled { NO, YES, OTHER };

static enum settled move(struct tstate *ts, const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_MOV: return move_gpr(ts, in);
    case IP_MN_MOVZX: return extend_gpr(ts, in, false);
    case IP_MN_MOVSX:
    case IP_MN_MOVSXD: return extend_gpr(ts, in, true);
    case IP_MN_PUSH: return push(ts, in);
    case IP_MN_POP: return pop(ts, in);
    case IP_MN_MOVD:
    case IP_MN_MOVQ:
    case IP_MN_VMOVD:
    case IP_MN_VMOVQ: return !in->mmx && move_low(ts, in);
    case IP_MN_ADD:
    case IP_MN_ADC:
    case IP_MN_SUB:
    case IP_MN_SBB:
    case IP_MN_CMP:
    case IP_MN_AND:
    case IP_MN_OR:
    case IP_MN_XOR:
    case IP_MN_TEST:
    case IP_MN_INC:
    case IP_MN_DEC:
    case IP_MN_SHL:
    case IP_MN_SHR:
    case IP_MN_SAR: return !in->vec_write && plain(ts, in) ? YES : OTHER;
    case IP_MN_MUL:
    case IP_MN_MULX: return plain_product(ts, in) ? YES : OTHER;
    case IP_MN_LEA: return plain_lea(ts, in) ? YES : OTHER;
    default: return ip_moves_vector(in->mnem) ? (enum settled)move_vec(ts, in) : OTHER;
    }
}

static bool others(struct tk *t) {
    struct tstate *ts = t->ts;
    const struct ip_insn *in = t->in;
    switch (in->mnem) {
    case IP_MN_MOVSB: return string(ts, in, 1, true);
    case IP_MN_MOVSW: return string(ts, in, 2, true);
    case IP_MN_MOVSD: return in->map ? vectors(t) : string(ts, in, 4, true); /* SSE2 has the name, too */
    case IP_MN_MOVSQ: return string(ts, in, 8, true);
    case IP_MN_STOSB: return string(ts, in, 1, false);
    case IP_MN_STOSW: return string(ts, in, 2, false);
    case IP_MN_STOSD: return string(ts, in, 4, false);
    case IP_MN_STOSQ: return string(ts, in, 8, false);
    default: return arithmetic(t);
    }
}

static bool settle(struct tstate *ts, const struct ip_insn *in) {
    struct tk t;
    if ((ts->umask >> IP_U_TAKES & 1) && (in->gpr_write >> IP_RSP & 1) && take_stack(ts, in)) return true;
    if (in->flow == IP_F_JCC) {
        if (ts->vflags >> (in->cc >> 1) & 1) return false;
        if (ts->umask >> IP_U_TESTED & 1) tk_block_ends(ts);
        return true;
    }
    if (in->flow == IP_F_CALL) return call(ts, in);
    if (in->flow == IP_F_CALLI) return !(ts->umask >> IP_U_TESTED & 1) && call(ts, in);
    enum settled moved = move(ts, in);
    if (moved != OTHER) return moved == YES;
    tk_begin(&t, ts, in);
    if (origins_kept()) origin_begin(&t);
    if (!others(&t)) return false;
    if (origins_kept()) origin_end(&t);
    return true;
}

/* Origins are in tables with locks, which may only be waited for after a full exit; so may the lock of stacks. */
static bool may_look(struct tstate *ts) {
    u64 sp = ts->gpr[IP_RSP];
    return sp > ts->stack_lo && sp <= ts->stack_hi && (rt_alone || origin_hold(ts));
}

static void looked(void) {
    if (!rt_alone) origin_let_go();
}

static bool settle_with_origins(struct tstate *ts, const struct ip_insn *in) {
    if (!may_look(ts)) return false;
    bool done = settle(ts, in);
    looked();
    return done;
}

/* ---- RSP ---------------------------------------------------------------------------------- */

/* red_zone: what lies in the new one stays, until a call or return. */
static bool give_back(struct tstate *ts, bool red_zone) {
    u64 old = ts->tmp[0], now = ts->gpr[IP_RSP];
    if (ts->stack_shared || now <= ts->stack_lo || now > ts->stack_hi || old <= ts->stack_lo || old > ts->stack_hi)
        return false;
    u64 step = now > old ? now - old : old - now;
    if (step > rt.chan->max_stackframe) return false; /* a switch of stacks, perhaps told */
    if (now <= old) return !(ts->umask >> IP_U_TAKES & 1);
    if (step > SH_GIVE_BACK || old - SH_REDZONE < ts->stack_lo) return false;
    rt_callstack_drop(ts, ts->stack_lo, now); /* calls that were left (longjmp) */
    if (red_zone) {
        ts->umask |= 1ull << IP_U_REDZONE;
        ts->redzone_not_lo = sh_not_lo(now - SH_REDZONE);
        sh_fill(sh_v(old - SH_REDZONE), 0xff, now - old);
    } else {
        sh_fill(sh_v(old - SH_REDZONE), 0xff, now - old + SH_REDZONE);
    }
    return true;
}

int rt_light(struct tstate *ts) {
    const struct ip_exit *x = rt_exits + ts->exit_id;
    ts->target = x->patch;
    bool done;
    switch (x->kind_aux & 0xff) {
    case IP_XS_TRACK: {
        const struct ip_insn *in = (const struct ip_insn *)ip_described(x->kind_aux >> 8);
        ts->pc = x->key;
        done = (origins_kept() ? settle_with_origins : settle)(ts, in);
        break;
    }
    case IP_XS_SPCHG: done = give_back(ts, x->key & IP_KEY_ONE); break;
    default: return 0;
    }
    if (done) rt.chan->counters[IP_N_LIGHT]++;
    return done;
}

int rt_origin_move(struct tstate *ts) {
    u64 at = ts->acc_addr;
    u32 info = ts->acc_info;
    bool done = false;
    if (!(ts->umask & info & IP_MOVE_DEFINED) && may_look(ts)) {
        if (on_stack(ts, at)) ts->pc = rt_exits[ts->exit_id].key; /* whose frame is asked for */
        done = told_move(ts, (enum ip_move)(ts->acc_kind & 0xff), at, info >> IP_MOVE_REG_SHIFT);
        if (done) origin_note_place(ts, at);
        looked();
    }
    if (done) {
        rt.chan->counters[IP_N_LIGHT]++;
        return true;
    }
    if (!rt_light(ts)) return false;
    if ((ts->acc_kind & 0xff) == IP_MV_NONE && may_look(ts)) { /* an operand of something else (arith.inc) */
        struct vbits v;
        if (load_at(ts, at, info >> IP_MOVE_REG_SHIFT, &v)) origin_note_place(ts, at);
        looked();
    }
    return true;
}

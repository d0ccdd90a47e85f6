/* Tracking: x87, and the control word of vectors.
 *
 * A register has 64 V bits, those of its value as a double: loads and stores of doubles, and moves between
 * registers, keep every bit; a value of another format is undefined as a whole or not at all, and so is what
 * arithmetic makes.  They lie in vmmx by the register's own number, not by its place in the stack, as an MMX
 * register's do, which is the same register.  What has been popped counts as defined, for nobody reads it again.
 * Of the status word C0 to C3 are followed; of rounding, precision and exception flags nobody can tell.
 */
#include "shadow/origin.h"
#include "shadow/track_x87.h"

#define C0 0x0100
#define C2 0x0400
#define C3 0x4000

#define COMPARED (C0 | C2 | C3)

struct fp {
    struct tk *t;
    unsigned top;
};

static u64 cast(u64 u) { return u ? ~0ull : 0; }

/* ---- the register stack ------------------------------------------------------------- */

static unsigned number(const struct fp *f, unsigned i) { return (f->top + i) & 7; }

static u64 get(struct fp *f, unsigned i) {
    unsigned r = number(f, i);
    u64 u = f->t->ts->vmmx[r];
    if (u && origins_kept()) origin_from_x87(f->t, r);
    return u;
}

static void set(struct fp *f, unsigned i, u64 u) {
    tk_set_mmx(f->t, number(f, i), u);
    if (u && origins_kept()) origin_to_x87(f->t, number(f, i));
}

static void push(struct fp *f, u64 u) {
    f->top = number(f, 7);
    set(f, 0, u);
}

static void pop(struct fp *f, unsigned n) {
    for (; n; n--) {
        set(f, 0, 0);
        f->top = number(f, 1);
    }
}

void tk_set_fsw(struct tk *t, u16 u) {
    t->ts->vfsw = u;
    if (u)
        t->ts->umask |= 1ull << IP_U_FSW;
    else
        t->ts->umask &= ~(1ull << IP_U_FSW);
}

static void conditions(struct fp *f, u16 u) {
    tk_set_fsw(f->t, u);
    if (u && origins_kept()) origin_to_x87(f->t, TK_X87_FSW);
}

static u16 status(struct fp *f) {
    if (f->t->ts->vfsw && origins_kept()) origin_from_x87(f->t, TK_X87_FSW);
    return f->t->ts->vfsw;
}

static void all_empty(struct fp *f) {
    for (unsigned r = 0; r < 8; r++) tk_set_mmx(f->t, r, 0);
    tk_set_fsw(f->t, 0);
}

/* ---- operands ------------------------------------------------------------------------- */

static bool in_memory(const struct tk *t) { return t->in->mem.present; }

/* The memory operand, as a double: its V bits if it is one, else all or none. */
static u64 loaded(struct tk *t, bool exact) {
    u8 v[10];
    unsigned n = t->in->mem.size;
    tk_load(t, tk_ea(t), n, v);
    if (exact && n == 8) {
        u64 u;
        memcpy(&u, v, 8);
        return u;
    }
    return tk_zero(v, n) ? 0 : ~0ull;
}

static void stored(struct tk *t, u64 u, bool exact) {
    u8 v[10];
    unsigned n = t->in->mem.size;
    if (exact && n == 8)
        memcpy(v, &u, 8);
    else
        memset(v, u ? 0xff : 0, n);
    tk_store(t, tk_ea(t), n, v);
}

/* The operand that is not the destination. */
static u64 source(struct fp *f) {
    const struct ip_insn *in = f->t->in;
    if (in_memory(f->t)) return loaded(f->t, false);
    return in->n_ops > 1 ? get(f, in->ops[1].reg) : get(f, 1);
}

static void arithmetic(struct fp *f, unsigned pops) {
    const struct ip_insn *in = f->t->in;
    unsigned to = in_memory(f->t) ? 0 : in->ops[0].reg;
    u64 u = get(f, to) | source(f);
    set(f, to, cast(u));
    pop(f, pops);
}

/* fcom and kin: C0, C2 and C3; C1 is cleared. */
static void compare(struct fp *f, unsigned pops) {
    u64 u = get(f, 0) | source(f);
    conditions(f, u ? COMPARED : 0);
    pop(f, pops);
}

/* fcomi and kin: ZF, PF and CF; the others are cleared. */
static void compare_flags(struct fp *f, unsigned pops) {
    u64 u = get(f, 0) | source(f);
    tk_set_flags(f->t, u ? TK_B | TK_Z | TK_BE | TK_P | TK_LE : 0);
    pop(f, pops);
}

static void conditional_move(struct fp *f, u8 pair) {
    struct tk *t = f->t;
    static const u16 bits[] = {[TK_B] = IP_FL_CF, [TK_Z] = IP_FL_ZF, [TK_BE] = IP_FL_CF | IP_FL_ZF, [TK_P] = IP_FL_PF};
    unsigned m = t->in->mnem;
    bool negated = m == IP_MN_FCMOVNB || m == IP_MN_FCMOVNE || m == IP_MN_FCMOVNBE || m == IP_MN_FCMOVNU;
    unsigned from = t->in->ops[1].reg;
    if (t->ts->vflags & pair)
        set(f, 0, ~0ull); /* either of two values, which may differ */
    else if (tk_flag(t, bits[pair]) != negated)
        set(f, 0, get(f, from));
}

/* One operand or two become one result. */
static u64 function(struct fp *f, bool two) {
    u64 u = get(f, 0);
    if (two) u |= get(f, 1);
    set(f, 0, cast(u));
    return u;
}

/* fprem and fprem1: the conditions tell about the quotient, and stay if there is none. */
static void partial_remainder(struct fp *f) {
    u16 exponents[8];
    u64 u = function(f, true);
    tk_x87_exponents(exponents);
    unsigned of = exponents[number(f, 0)] & 0x7fff, by = exponents[number(f, 1)] & 0x7fff;
    bool none = of == 0x7fff || by == 0x7fff || by == 0;
    conditions(f, u ? TK_X87_CONDITIONS : none ? f->t->ts->vfsw : 0);
}

/* What makes two results of one operand. */
static u64 two_results(struct fp *f) {
    u64 u = cast(get(f, 0));
    set(f, 0, u);
    push(f, u);
    return u;
}

/* C2 tells whether an operand u is within fsin's range; C0 and C3 are left alone. */
static void in_range(struct fp *f, u64 u) { conditions(f, (f->t->ts->vfsw & (C0 | C3)) | (u ? C2 : 0)); }

/* fyl2x and kin: of st(0) and st(1), to st(1). */
static void function_pops(struct fp *f) {
    u64 u = get(f, 0) | get(f, 1);
    set(f, 1, cast(u));
    pop(f, 1);
}

/* ---- the environment -------------------------------------------------------------------- */

/* Control word, status word and tag word; they are 4 or 2 bytes apart. */
static unsigned step(const struct tk *t) { return t->in->mem.size == 28 || t->in->mem.size == 108 ? 4 : 2; }

/* Bytes of n at `at` become defined, if they are the program's. */
static bool environment_stored(struct fp *f, unsigned n) {
    struct tk *t = f->t;
    u64 at = tk_ea(t), bad;
    if (rt_shadow_unaddr(t->ts, at, n, &bad)) {
        sh_report_access(t->ts, IP_E_WRITE, bad, (u32)(at + n - bad));
        return false;
    }
    sh_fill(sh_v(at), 0, n);
    if (status(f)) tk_store8(t, at + step(t), 2, status(f));
    return true;
}

static bool environment_loaded(struct fp *f, unsigned n) {
    struct tk *t = f->t;
    unsigned apart = step(t);
    u64 at = tk_ea(t), control = 0, word = 0, tags = 0, bad;
    if (rt_shadow_unaddr(t->ts, at, n, &bad)) {
        sh_report_access(t->ts, IP_E_READ, bad, (u32)(at + n - bad));
        all_empty(f);
        return false;
    }
    sh_access(t->ts, at, 2, (u8 *)&control);
    sh_access(t->ts, at + apart, 2, (u8 *)&word);
    sh_access(t->ts, at + 2 * apart, 2, (u8 *)&tags);
    if (control || tags || (word & 0x3800)) tk_report_cond(t); /* how to round, and where the stack is */
    conditions(f, (u16)word & TK_X87_CONDITIONS);
    word = 0;
    tk_value(at + apart, 2, &word);
    f->top = word >> 11 & 7;
    return true;
}

static void state_saved(struct fp *f) {
    struct tk *t = f->t;
    unsigned n = t->in->mem.size, env = 7 * step(t);
    if (environment_stored(f, n)) tk_x87_stored(t, tk_ea(t) + env, 10);
    all_empty(f);
}

static void state_restored(struct fp *f) {
    struct tk *t = f->t;
    unsigned n = t->in->mem.size, env = 7 * step(t);
    if (environment_loaded(f, n)) tk_x87_loaded(t, tk_ea(t) + env, 10, f->top);
}

static void control_word(struct fp *f) {
    struct tk *t = f->t;
    if (tk_load8(t, tk_ea(t), 2)) tk_report_cond(t);
}

/* ---- registers in images: 80 bits each, in the order of the stack ---------------------------- */

void tk_x87_stored(struct tk *t, u64 at, unsigned apart) {
    u16 exponents[8];
    unsigned top = tk_x87_exponents(exponents);
    for (unsigned i = 0; i < 8; i++, at += apart) {
        unsigned r = (top + i) & 7;
        u8 v[10] = {0};
        u64 u = t->ts->vmmx[r];
        if (!u) continue;
        memcpy(v, &u, 8);
        if (exponents[r] != 0xffff) memset(v, 0xff, sizeof v); /* no MMX register: another format */
        if (origins_kept()) origin_only_x87(t, r);
        tk_store_elements(t, at, 10, v);
    }
    t->origin = 0;
}

void tk_x87_loaded(struct tk *t, u64 at, unsigned apart, unsigned top) {
    for (unsigned i = 0; i < 8; i++, at += apart) {
        u8 v[10] = {0};
        u64 u;
        u16 exponent = 0;
        sh_access(t->ts, at, 10, v);
        tk_value(at + 8, 2, &exponent);
        memcpy(&u, v, 8);
        if (v[8] || v[9] || (u && exponent != 0xffff)) u = ~0ull;
        tk_set_mmx(t, (top + i) & 7, u);
        if (!u || !origins_kept()) continue;
        origin_only_element(t, at, 10);
        origin_to_x87(t, (top + i) & 7);
    }
    t->origin = 0;
}

/* ---- instructions ---------------------------------------------------------------------------- */

bool tk_x87(struct tk *t) {
    struct fp f = {.t = t};
    unsigned m = t->in->mnem;
    u64 u;
    if (m == IP_MN_LDMXCSR || m == IP_MN_VLDMXCSR) {
        if (tk_load8(t, tk_ea(t), 4)) tk_report_cond(t);
        return true;
    }
    if (!t->in->x87) return false;
    f.top = tk_x87_top();
    switch (m) {
    case IP_MN_FLD: push(&f, in_memory(t) ? loaded(t, true) : get(&f, t->in->ops[0].reg)); return true;
    case IP_MN_FILD:
    case IP_MN_FBLD: push(&f, loaded(t, false)); return true;
    case IP_MN_FLD1:
    case IP_MN_FLDZ:
    case IP_MN_FLDPI:
    case IP_MN_FLDL2E:
    case IP_MN_FLDL2T:
    case IP_MN_FLDLG2:
    case IP_MN_FLDLN2: push(&f, 0); return true;
    case IP_MN_FST:
    case IP_MN_FSTP:
    case IP_MN_FSTPNCE:
        if (in_memory(t))
            stored(t, get(&f, 0), true);
        else
            set(&f, t->in->ops[0].reg, get(&f, 0));
        pop(&f, m != IP_MN_FST);
        return true;
    case IP_MN_FIST: stored(t, get(&f, 0), false); return true;
    case IP_MN_FISTP:
    case IP_MN_FISTTP:
    case IP_MN_FBSTP:
        stored(t, get(&f, 0), false);
        pop(&f, 1);
        return true;
    case IP_MN_FXCH: {
        unsigned other = t->in->n_ops > 1 ? t->in->ops[1].reg : 1;
        u = get(&f, 0);
        u64 v = get(&f, other);
        set(&f, 0, v);
        set(&f, other, u);
        return true;
    }
    case IP_MN_FADD:
    case IP_MN_FSUB:
    case IP_MN_FSUBR:
    case IP_MN_FMUL:
    case IP_MN_FDIV:
    case IP_MN_FDIVR:
    case IP_MN_FIADD:
    case IP_MN_FISUB:
    case IP_MN_FISUBR:
    case IP_MN_FIMUL:
    case IP_MN_FIDIV:
    case IP_MN_FIDIVR: arithmetic(&f, 0); return true;
    case IP_MN_FADDP:
    case IP_MN_FSUBP:
    case IP_MN_FSUBRP:
    case IP_MN_FMULP:
    case IP_MN_FDIVP:
    case IP_MN_FDIVRP: arithmetic(&f, 1); return true;
    case IP_MN_FCHS: return true; /* one bit becomes another, which is as known */
    case IP_MN_FABS: set(&f, 0, get(&f, 0) & ~(1ull << 63)); return true;
    case IP_MN_FSQRT:
    case IP_MN_FRNDINT:
    case IP_MN_F2XM1: function(&f, false); return true;
    case IP_MN_FSIN:
    case IP_MN_FCOS: in_range(&f, function(&f, false)); return true;
    case IP_MN_FSCALE: function(&f, true); return true;
    case IP_MN_FPREM:
    case IP_MN_FPREM1: partial_remainder(&f); return true;
    case IP_MN_FXTRACT: two_results(&f); return true;
    case IP_MN_FPTAN:
        in_range(&f, function(&f, false));
        push(&f, 0); /* 1 */
        return true;
    case IP_MN_FSINCOS: in_range(&f, two_results(&f)); return true;
    case IP_MN_FPATAN:
    case IP_MN_FYL2X:
    case IP_MN_FYL2XP1: function_pops(&f); return true;
    case IP_MN_FCOM:
    case IP_MN_FUCOM:
    case IP_MN_FICOM: compare(&f, 0); return true;
    case IP_MN_FCOMP:
    case IP_MN_FUCOMP:
    case IP_MN_FICOMP: compare(&f, 1); return true;
    case IP_MN_FCOMPP:
    case IP_MN_FUCOMPP: compare(&f, 2); return true;
    case IP_MN_FTST: conditions(&f, get(&f, 0) ? COMPARED : 0); return true;
    case IP_MN_FXAM: conditions(&f, get(&f, 0) ? TK_X87_CONDITIONS : 0); return true;
    case IP_MN_FCOMI:
    case IP_MN_FUCOMI: compare_flags(&f, 0); return true;
    case IP_MN_FCOMIP:
    case IP_MN_FUCOMIP: compare_flags(&f, 1); return true;
    case IP_MN_FCMOVB:
    case IP_MN_FCMOVNB: conditional_move(&f, TK_B); return true;
    case IP_MN_FCMOVE:
    case IP_MN_FCMOVNE: conditional_move(&f, TK_Z); return true;
    case IP_MN_FCMOVBE:
    case IP_MN_FCMOVNBE: conditional_move(&f, TK_BE); return true;
    case IP_MN_FCMOVU:
    case IP_MN_FCMOVNU: conditional_move(&f, TK_P); return true;
    case IP_MN_FFREE:
    case IP_MN_FFREEP: set(&f, t->in->ops[0].reg, 0); return true;
    case IP_MN_FNSTSW: tk_wr(t, 0, status(&f)); return true;
    case IP_MN_FNSTCW: tk_wr(t, 0, 0); return true;
    case IP_MN_FLDCW: control_word(&f); return true;
    case IP_MN_FNSTENV: environment_stored(&f, t->in->mem.size); return true;
    case IP_MN_FLDENV: environment_loaded(&f, t->in->mem.size); return true;
    case IP_MN_FNSAVE: state_saved(&f); return true;
    case IP_MN_FRSTOR: state_restored(&f); return true;
    case IP_MN_FNINIT: all_empty(&f); return true;
    case IP_MN_FNCLEX:
    case IP_MN_FNENI:
    case IP_MN_FNDISI:
    case IP_MN_FNSETPM:
    case IP_MN_FNOP:
    case IP_MN_FINCSTP:
    case IP_MN_FDECSTP:
    case IP_MN_WAIT: return true;
    case IP_MN_EMMS:
    case IP_MN_FEMMS: return true; /* the registers keep what they hold */
    default: return false;
    }
}

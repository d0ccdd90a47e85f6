/* Tracking: exact V bits of one guest instruction, computed before it runs.
 *
 * rt_track_insn is called from tracking translations whose guard failed (some
 * register, flag or byte that the instruction touches is not defined, or an
 * address is not addressable).  It reads the guest's actual values from ts and
 * from memory, writes V bits of every output, and reports errors.  What RSP's
 * movement does to the stack's V bytes is the translation's business.
 *
 * The tag operations are those of docs/memcheck.md, "The tracking translation": UifU = |, Left, PCast,
 * widening, ImproveAND/OR; where carry chains or comparisons matter, bounds
 * (all undefined bits 0, all 1) replace them.
 *
 * Invariant: bit r of ts->umask is set iff vgpr[r] (vflags, vfsw, vk, vmmx, vvec) is
 * not zero.
 */
#ifndef INTERPOSE_TRACK_H
#define INTERPOSE_TRACK_H

#include "shadow/shadow.h"

#include "x86_mnem.h"

/* A value and its V bits, up to 8 bytes. */
typedef struct {
    u64 v, u;
} tkval;

struct tk {
    struct tstate *ts;
    const struct ip_insn *in;
    u64 ea;
    bool ea_known;
    u64 told; /* the invalid read that was reported: its address and size */
    unsigned told_n;
    u32 origin; /* of its undefined inputs (origin.h) */
};

/* Member by member: an initializer becomes a string instruction, which takes longer than many an instruction's
 * tracking. */
static inline void tk_begin(struct tk *t, struct tstate *ts, const struct ip_insn *in) {
    t->ts = ts;
    t->in = in;
    t->ea = 0;
    t->ea_known = false;
    t->told = 0;
    t->told_n = 0;
    t->origin = 0;
}

/* A value of logic, and its V bits: a defined 0 or 1 may settle it. */
static inline tkval tk_and(tkval a, tkval b) { return (tkval){a.v & b.v, (a.u & b.u) | (a.u & b.v) | (b.u & a.v)}; }
static inline tkval tk_or(tkval a, tkval b) { return (tkval){a.v | b.v, (a.u & b.u) | (a.u & ~b.v) | (b.u & ~a.v)}; }
static inline tkval tk_xor(tkval a, tkval b) { return (tkval){a.v ^ b.v, a.u | b.u}; }

/* Sums without their flags: what the carries may be at both ends. */
static inline tkval tk_sum(tkval a, tkval b) {
    u64 least = (a.v & ~a.u) + (b.v & ~b.u), most = (a.v | a.u) + (b.v | b.u);
    return (tkval){a.v + b.v, (least ^ most) | a.u | b.u};
}
static inline tkval tk_difference(tkval a, tkval b) {
    u64 least = (a.v & ~a.u) - (b.v | b.u), most = (a.v | a.u) - (b.v & ~b.u);
    return (tkval){a.v - b.v, (least ^ most) | a.u | b.u};
}

/* Bits of vflags: condition pairs, cc >> 1. */
enum { TK_O = 1, TK_B = 2, TK_Z = 4, TK_BE = 8, TK_S = 16, TK_P = 32, TK_L = 64, TK_LE = 128 };
#define TK_ALL 0xff

static inline u64 tk_mask(unsigned n) { return n >= 8 ? ~0ull : (1ull << 8 * n) - 1; }
static inline u64 tk_left(u64 u) { return u | -u; }
static inline u64 tk_sext(u64 x, unsigned n) { return n >= 8 ? x : (u64)((i64)(x << (64 - 8 * n)) >> (64 - 8 * n)); }
static inline bool tk_zero(const u8 *v, unsigned n) {
    u64 any = 0, w;
    for (; n >= 8; n -= 8, v += 8) {
        memcpy(&w, v, 8);
        any |= w;
    }
    while (n--) any |= v[n];
    return !any;
}

/* A bit test of memory whose index is a register: the index moves the address, and the
 * memory operand counts as the one byte that holds the bit. */
static inline bool tk_in_bit_string(const struct ip_insn *in) {
    unsigned m = in->mnem;
    return (m == IP_MN_BT || m == IP_MN_BTS || m == IP_MN_BTR || m == IP_MN_BTC) && in->ops[0].kind == IP_OP_MEM &&
           in->ops[1].kind == IP_OP_GPR;
}
/* Bytes that the ModRM operand has from tk_ea on. */
static inline unsigned tk_mem_size(const struct ip_insn *in) { return tk_in_bit_string(in) ? 1 : in->mem.size; }
/* Bits that a number between these two may have or not: none above the first in which they differ. */
static inline u64 tk_between(u64 a, u64 b) { return a == b ? 0 : ~0ull >> __builtin_clzll(a ^ b); }

/* track.c */
void tk_set_gpr(struct tk *t, unsigned r, u64 u);
void tk_set_flags(struct tk *t, u8 u);
/* Address of the ModRM operand (in a bit string, of the bit's byte); undefined registers
 * in it are reported and then defined, to the end of the block. */
u64 tk_ea(struct tk *t);
u64 tk_seg_base(const struct tk *t); /* of an fs: or gs: prefix */
u64 tk_ea_raw(struct tk *t);         /* without looking at V bits */
void tk_check_gprs(struct tk *t, u16 regs, unsigned size);
/* The instruction ends the block: what was tested in it is undefined again. */
void tk_block_ends(struct tstate *ts);
void tk_report_value(struct tk *t, unsigned size);
void tk_report_cond(struct tk *t);
/* V bits of guest memory, with the checks of a load or a store. */
void tk_load(struct tk *t, u64 at, unsigned n, u8 *v);
void tk_store(struct tk *t, u64 at, unsigned n, const u8 *v);
/* The same of elements that are accessed apart from others, with their origin. */
void tk_load_elements(struct tk *t, u64 at, unsigned n, u8 *v);
void tk_store_elements(struct tk *t, u64 at, unsigned n, const u8 *v);
/* Elements of es bytes that k selects; the others are not accessed, and defined. */
void tk_load_masked(struct tk *t, u64 at, unsigned n, unsigned es, u64 k, u8 *v);
void tk_store_masked(struct tk *t, u64 at, unsigned n, unsigned es, u64 k, const u8 *v);
u64 tk_load8(struct tk *t, u64 at, unsigned n);
void tk_store8(struct tk *t, u64 at, unsigned n, u64 u);
/* Values of guest memory; zero where there is none. */
void tk_value(u64 at, unsigned n, void *out);
/* Integer operand i: value and V bits; new V bits. */
tkval tk_rd(struct tk *t, unsigned i);
void tk_wr(struct tk *t, unsigned i, u64 u);
u64 tk_flag(struct tk *t, u64 bit); /* 0 or 1: a bit of the guest's rflags */

/* track_branch.c: the guest's instruction at pc; false: there is none. */
bool tk_fetch(u64 pc, struct ip_insn *in);
/* Do both ways of this branch, which is undefined, lead to the same? */
bool tk_branches_meet(struct tstate *ts, const struct ip_insn *in);
/* Will the next branch report this one, which is undefined, with its own condition? */
bool tk_branch_joined(struct tstate *ts, const struct ip_insn *in);

/* track_flags.c */
u8 tk_fl_make(u64 rv, u64 ru, unsigned n, bool ub, bool b, bool uo, bool o);
u8 tk_fl_logic(u64 rv, u64 ru, unsigned n);
/* a +- b +- c, c being 0 or 1 with uc its V bit; result V bits in *ru. */
u8 tk_fl_add(tkval a, tkval b, tkval c, unsigned n, u64 *ru);
u8 tk_fl_sub(tkval a, tkval b, tkval c, unsigned n, u64 *ru);
/* a + a + c, both sides being one register. */
u8 tk_fl_double(tkval a, tkval c, unsigned n, u64 *ru);
/* a + 1 or a - 1, whose carry is what it was (ub: undefined, b). */
u8 tk_fl_step(tkval a, bool sub, unsigned n, bool ub, bool b, u64 *ru);
/* By k bits, which is not 0. */
enum tk_shift { TK_SHL, TK_SHR, TK_SAR };
u8 tk_fl_shift(tkval a, unsigned k, enum tk_shift how, unsigned n, u64 *ru);
/* Pair bits after each of CF PF ZF SF OF (IP_FL_*) has V bit in `u`, value in `v`. */
u8 tk_fl_of_bits(u64 v, u64 u);
/* Of a product, n bytes: V bits of its low half; of the high one, unless NULL (track_int.c). */
u64 tk_product(tkval a, tkval b, unsigned n, u64 *high, bool is_signed);
/* V bits of the flags word for vflags f. */
u64 tk_fl_word(u8 f);

/* Each returns false if the instruction is not theirs. */
bool tk_int(struct tk *t);         /* track_int.c */
bool tk_bits(struct tk *t);        /* track_bits.c */
bool tk_string(struct tk *t);      /* track_str.c */
bool tk_state_image(struct tk *t); /* track_state.c */
bool tk_x87(struct tk *t);         /* track_x87.c */
bool tk_vec(struct tk *t);         /* track_vec.c */
bool tk_kmask(struct tk *t);       /* track_k.c */

/* Values of vector and mask registers, read from the CPU: the runtime never
 * changes them (track_save.c). */
bool rt_track_needs_vec(const struct ip_insn *in); /* asked by the dispatcher: never */
const u8 *tk_vec_value(struct tk *t, unsigned r);
u64 tk_k_value(struct tk *t, unsigned r);
u64 tk_mmx_value(struct tk *t, unsigned r);
void tk_set_vec(struct tk *t, unsigned r, const u8 *v, unsigned n, bool zero_upper);
void tk_set_k(struct tk *t, unsigned r, u64 u);
void tk_set_mmx(struct tk *t, unsigned r, u64 u);

#endif

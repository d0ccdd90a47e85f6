/* Tracking, vector instructions: one row a mnemonic says what kind of data flow
 * it has; the kinds are written once. */
#ifndef INTERPOSE_TRACK_VEC_H
#define INTERPOSE_TRACK_VEC_H

#include "shadow/track.h"

/* ORDER: tk_vec goes by ranges. */
enum vec_class {
    V_NONE,
    /* moves: track_move.c */
    V_MOVE,
    V_MOVELOW,
    V_MOVESCALAR,
    V_MOVEHALF,
    V_MOVHLPS,
    V_MOVLHPS,
    V_DUP,
    V_UNPACK,
    V_SHUF,
    V_SHUFP,
    V_ALIGN,
    V_BYTESHIFT,
    V_ALIGNELEM,
    V_BLENDI,
    V_INSERT,
    V_INSERTPS,
    V_EXTRACT,
    V_INSLANE,
    V_EXTLANE,
    V_PERM2,
    V_FIELD,
    V_SHUFLANE,
    V_BCAST,
    V_EXTEND,
    V_TRUNC,
    V_PACK,
    V_PSHUFB,
    V_PERMVAR,
    V_PERM2SRC,
    V_BLENDV,
    V_BLENDM,
    V_MASKMOVE,
    V_ZEROALL,
    V_ZEROUPPER,
    /* elements that are not side by side: track_sparse.c */
    V_GATHER,
    V_SCATTER,
    V_COMPRESS,
    V_EXPAND,
    /* arithmetic: track_vec.c */
    V_AND,
    V_OR,
    V_XOR,
    V_ANDN,
    V_TERNARY,
    V_CAST,
    V_CASTU,
    V_CAST3,
    V_SCALAR,
    V_SCALARU,
    V_SCALAR3,
    V_SCALAR3F, /* the rest is the first source's */
    V_HORIZ,
    V_CMPEQ,
    V_CMPGT,
    V_SHIFT,
    V_SHIFTV,
    V_MOVMSK,
    V_TEST,
    V_COMI,
    V_CVT,
    V_CVTLOW,
    V_INT2F,
    V_F2INT,
    V_PSAD,
    V_STRCMP,
    V_CMPK,
    V_TESTK,
    V_CMPFK,
    V_CMPSCALAR,
    /* by the values, too: track_arith.c */
    V_ADDSUB,
    V_LEFT,
    V_MULEVEN,
    V_ABS,
    V_SIGN,
    V_EXTREME,
    V_DOT,
    V_SADS,
    V_MINPOS,
    V_INTERSECT,
    V_CVTMMX,
    V_COUNT,
    V_NARROW2,
    V_PRODUCTS,
    V_PRODUCTS3, /* added to the destination */
    /* more than the elements beside: track_lanes.c */
    V_LANE16,
    V_CLMUL,
    V_AFFINE,
    V_CONFLICT,
    V_SHIFT2,
    V_ROTATE,
    V_MULTISHIFT,
    V_MASKFILL,
    V_MASKIN,
    V_BITCHOICE
};
struct vec_rule {
    u8 cls, p, q;
}; /* p: element size (or as the class says), q: second number */
/* q of V_EXTREME. */
#define VX_MOST   1
#define VX_SIGNED 2
/* q of V_PACK and V_TRUNC, and of the latter the size besides.  VX_SATURATES: a truncation without it cuts off. */
#define VX_SIZE        15
#define VX_SATURATES   16
#define VX_FROM_SIGNED 32
#define VX_TO_SIGNED   64

struct vx {
    struct tk *t;
    const struct vec_rule *r;
    unsigned w;      /* bytes of the vector operated on */
    unsigned ia, ib; /* operand numbers of the two sources */
    u8 imm;
    u8 a[64], b[64], d[64];
    bool known; /* what the instruction is about to write, before its mask, is in value */
    u8 value[64];
    bool of_values; /* vx_read gives values, vx_write leaves all as it is (vx_moved) */
};
/* The rule of a mnemonic (track_vectab.c); NULL: none of its own. */
const struct vec_rule *track_vec_rule(unsigned mnem);

/* Operand i: V bits, values; n bytes (a broadcast operand is repeated). */
void vx_read(struct vx *x, unsigned i, u8 *v, unsigned n);
void vx_value(struct vx *x, unsigned i, u8 *v, unsigned n);
/* d to operand 0: n bytes, mask elements of es bytes, upper part by encoding. */
void vx_write(struct vx *x, unsigned n, unsigned es);
/* Elements of es bytes that the write mask selects (all without one). */
u64 vx_mask(struct vx *x);
/* V bits of byte i where an undefined mask bit decides between the new value and another one, u its V bits. */
u8 vx_either(const struct vx *x, unsigned i, u8 u, u8 value);
/* The value of a move or of integer arithmetic, before its mask; false: not of this instruction (track_value.c). */
bool vx_compute(struct vx *x);
/* An element, or its V bits, shifted by a number: q of V_SHIFT says how. */
u64 vx_shifted(u64 u, unsigned es, u64 k, unsigned how);
/* The same of a move; false: not of one, or of one that does more to V bits than it does to values. */
bool vx_moved(struct vx *x);
bool vx_move(struct vx *x);   /* track_move.c */
void vx_sparse(struct vx *x); /* track_sparse.c */
bool vx_lanes(struct vx *x);  /* track_lanes.c */
bool vx_arith(struct vx *x);  /* track_arith.c */
/* Are the two sources one register? */
bool vx_same_sources(const struct vx *x);
/* Result of a comparison of n elements into a mask register: bit i open or not, its value (ones if not known). */
void vx_to_mask(struct vx *x, u64 open, u64 value, unsigned n);

static inline u64 vx_get(const u8 *p, unsigned n) {
    u64 v = 0;
    switch (n) {
    case 2: memcpy(&v, p, 2); return v;
    case 4: memcpy(&v, p, 4); return v;
    case 8: memcpy(&v, p, 8); return v;
    default: break;
    }
    for (unsigned i = 0; i < n; i++) v |= (u64)p[i] << 8 * i;
    return v;
}
static inline void vx_put(u8 *p, unsigned n, u64 v) {
    switch (n) {
    case 2: memcpy(p, &v, 2); return;
    case 4: memcpy(p, &v, 4); return;
    case 8: memcpy(p, &v, 8); return;
    default: break;
    }
    for (unsigned i = 0; i < n; i++) p[i] = (u8)(v >> 8 * i);
}
/* The element at byte i, and whether two of them may or may not be equal. */
static inline tkval vx_element(const u8 *v, const u8 *u, unsigned i, unsigned es) {
    return (tkval){vx_get(v + i, es), vx_get(u + i, es)};
}
static inline bool vx_open_equal(tkval a, tkval b) {
    u64 u = a.u | b.u;
    return u && !((a.v ^ b.v) & ~u);
}

#endif

/* Memcheck's stage 3 (docs/memcheck.md, "The clean translation" and
 * "The tracking translation").
 *
 * Clean: the block tests once that every register it touches is defined, then
 * compares the V bytes of each access with zero; on failure it continues at
 * the same instruction in the tracking translation of the same address.
 * Tracking: each instruction is guarded by itself, and rt_track_insn computes
 * the V bits exactly when its guard fails.
 */
#include <string.h>

#include "abi/channel.h"
#include "abi/space.h"
#include "abi/tstate.h"
#include "jit/native_api.h"
#include "jit/ucode.h"
#include "jit/ways.h"
#include "jit/x86_decode.h"

#define UBIT(n) (1ull << (n))

/* RSP given back in one known step up to this is marked in line. */
#define INLINE_GIVE_BACK 128

static uint64_t gpr_set(uint32_t regs) { return (uint64_t)regs << IP_U_GPR0; }

/* Every register bit whose definedness the instruction depends on or changes. */
static uint64_t touched(const struct ip_insn *in) {
    uint64_t s = gpr_set((uint32_t)(in->gpr_read | in->gpr_write));
    s |= (uint64_t)(in->vec_read | in->vec_write) << IP_U_VEC0;
    s |= (uint64_t)(in->mmx_read | in->mmx_write) << IP_U_MMX0;
    if (in->x87) s |= 0xffull << IP_U_MMX0 | UBIT(IP_U_FSW); /* which register st(i) is, nobody knows here */
    if (in->k_read | in->k_write) s |= UBIT(IP_U_K);
    if ((in->fl_read | in->fl_write) & IP_FL_ARITH) s |= UBIT(IP_U_FLAGS);
    if (in->mem.present && in->mem.vsib) s |= UBIT(IP_U_VEC0 + in->mem.index);
    return s;
}

static bool plain_size(unsigned n) {
    return n == 1 || n == 2 || n == 4 || n == 8 || n == 10 || n == 16 || n == 32 || n == 64;
}

enum stack_kind { SK_NONE, SK_PUSH, SK_POP, SK_UP, SK_DOWN, SK_OTHER };

struct plan {
    bool helper; /* only rt_track_insn can do it */
    enum stack_kind stack;
    bool keeps_red_zone;  /* RSP's rise leaves the new red zone as it is */
    bool loads_sp;        /* RSP's new value does not come from RSP or RBP */
    unsigned stack_bytes; /* pushed, popped, or RSP's known increase */
    unsigned regained;    /* of them: below RSP for part of the block only */
    bool load, store;     /* explicit memory operand */
    bool stack_store;     /* store at a known place of the frame: no check */
    unsigned size;
    bool repeats;                           /* movs or stos with a count: a helper, after which all registers are as
                                               defined as before */
    unsigned reads_si, reads_di, stores_di; /* bytes where a string instruction does so once */
};

/* movs, cmps, stos, lods, scas. */
static bool is_string(const struct ip_insn *in) {
    if (in->map != 0 || in->enc != IP_ENC_LEGACY || in->mem.seg || in->mem.addr32) return false;
    switch (in->opcode & 0xfe) {
    case 0xa4:
    case 0xa6:
    case 0xaa:
    case 0xac:
    case 0xae: return true;
    default: return false;
    }
}

static void plan_string(const struct ip_insn *in, struct plan *p) {
    if (in->rep) {
        p->helper = true;
        p->repeats = !(in->fl_write & IP_FL_ARITH) && !(in->gpr_write & 1u << IP_RAX);
        return;
    }
    for (int k = 0; k < in->n_ops; k++) {
        const struct ip_operand *op = &in->ops[k];
        if (op->kind != IP_OP_MEM_IMPL) continue;
        if (op->reg == IP_RSI)
            p->reads_si = op->size;
        else if (op->access & IP_ACC_W)
            p->stores_di = op->size;
        else
            p->reads_di = op->size;
    }
}

static bool is_bit_string(const struct ip_insn *in) {
    return (in->mnem == IP_MN_BT || in->mnem == IP_MN_BTS || in->mnem == IP_MN_BTR || in->mnem == IP_MN_BTC) &&
           in->mem.present && in->imm_len == 0;
}

/* fxsave and relatives: size is not the operand's. */
static bool is_state_image(const struct ip_insn *in) {
    return in->mem.present && !(in->mem.access & IP_ACC_ADDR) && !plain_size(in->mem.size);
}

/* From where did it get it: does the instruction move RSP within its frame? */
static bool within_frame(const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_LEAVE:
    case IP_MN_ENTER:
    case IP_MN_ADD:
    case IP_MN_SUB:
    case IP_MN_AND: return true;
    case IP_MN_LEA: return in->mem.base == IP_RSP || in->mem.base == IP_RBP;
    case IP_MN_MOV: return in->ops[1].kind == IP_OP_GPR && in->ops[1].reg == IP_RBP;
    default: return false;
    }
}

/* A greater step down may be a switch of stacks, which the runtime tells. */
static int64_t max_frame(void) {
    const struct ip_chan *chan = tt_channel();
    return chan ? (int64_t)chan->max_stackframe : INT64_MAX;
}

static void plan_stack(const struct ip_insn *in, struct plan *p) {
    bool imm = in->imm_len != 0;
    if (!(in->gpr_write & (1u << IP_RSP))) return;
    switch (in->mnem) {
    case IP_MN_PUSH:
    case IP_MN_PUSHFQ:
    case IP_MN_PUSHF:
        p->stack = SK_PUSH;
        p->stack_bytes = in->opsize == 2 ? 2 : 8;
        return;
    case IP_MN_POP:
        if (in->mem.present || (in->gpr_write & ~(1u << IP_RSP)) == 0) {
            bool to_memory = in->mem.present && in->opsize == 8;
            p->helper = true; /* pop [mem], pop %rsp, pop %fs */
            p->stack = to_memory ? SK_POP : SK_OTHER;
            p->stack_bytes = to_memory ? 8 : 0;
            p->loads_sp = !to_memory;
            return;
        }
        p->stack = SK_POP;
        p->stack_bytes = in->opsize == 2 ? 2 : 8;
        return;
    case IP_MN_POPFQ:
    case IP_MN_POPF:
        p->stack = SK_POP;
        p->stack_bytes = in->opsize == 2 ? 2 : 8;
        return;
    case IP_MN_ADD:
    case IP_MN_SUB:
        if (imm && in->opsize == 8 && !in->mem.present) {
            int64_t d = in->mnem == IP_MN_ADD ? in->imm : -in->imm;
            p->stack = d > 0 ? SK_UP : SK_DOWN;
            p->stack_bytes = d > 0 && d <= INLINE_GIVE_BACK ? (unsigned)d : 0;
            if (d > INLINE_GIVE_BACK || -d > max_frame()) p->stack = SK_OTHER;
            return;
        }
        break;
    case IP_MN_LEA:
        if (in->mem.base == IP_RSP && in->mem.index == IP_REG_NONE && in->opsize == 8) {
            int64_t d = in->mem.disp;
            p->stack = d > 0 ? SK_UP : SK_DOWN;
            p->stack_bytes = d > 0 && d <= INLINE_GIVE_BACK ? (unsigned)d : 0;
            if (d > INLINE_GIVE_BACK || -d > max_frame()) p->stack = SK_OTHER;
            return;
        }
        break;
    default: break;
    }
    p->stack = SK_OTHER;
    p->loads_sp = !within_frame(in);
}

static void make_plan(const struct ip_insn *in, struct plan *p) {
    memset(p, 0, sizeof *p);
    plan_stack(in, p);
    if (is_string(in)) {
        plan_string(in, p);
        return;
    }
    for (int k = 0; k < in->n_ops; k++)
        if (in->ops[k].kind == IP_OP_MEM_IMPL && in->ops[k].reg != IP_RSP) p->helper = true;
    if (in->mnem == IP_MN_LEAVE) p->helper = false;
    if (in->mnem == IP_MN_ENTER) p->helper = true;
    if (in->mem.present && !(in->mem.access & IP_ACC_ADDR)) {
        p->size = in->mem.size;
        p->load = in->mem.access & IP_ACC_R;
        p->store = in->mem.access & IP_ACC_W;
        if ((in->mem.access & IP_ACC_COND) || in->mem.vsib || is_bit_string(in) || is_state_image(in)) p->helper = true;
    }
}

/* ---- Frames ------------------------------------------------------------------------
 * After "mov rbp, rsp" in a block, stores at [rbp+x] are stores at a known
 * distance from RSP until one of both changes otherwise.  At or above RSP they
 * need no check.  Below, in the red zone (locals of -O0 leaf functions), they
 * need none either if the block goes straight to its return, which takes the
 * bytes back; elsewhere the slow path notes them (IP_U_REDZONE). */

struct frame {
    bool known; /* RBP = RSP + off */
    int64_t off;
    bool straight; /* nothing but instructions up to a return */
    int64_t lo;    /* red zone bytes from RSP + lo on are defined */
};

/* What the instruction adds to RSP; false: unknown. */
static bool rsp_step(const struct ip_insn *in, const struct plan *p, int64_t *step) {
    return ip_rsp_step(in, step) && !(*step && p->helper);
}

/* Distance of a plain store from RSP; false: unknown. */
static bool store_offset(const struct ip_insn *in, const struct frame *f, int64_t *off) {
    const struct ip_mem *m = &in->mem;
    if (m->index != IP_REG_NONE || m->seg || m->addr32) return false;
    if (m->base == IP_RSP)
        *off = m->disp;
    else if (m->base == IP_RBP && f->known)
        *off = m->disp + f->off;
    else
        return false;
    return true;
}

static void frame_step(struct frame *f, const struct ip_insn *in, const struct plan *p) {
    int64_t step;
    if (!rsp_step(in, p, &step)) {
        f->known = false;
        f->lo = 0;
        return;
    }
    f->off -= step;
    f->lo = f->lo - step < 0 && f->lo ? f->lo - step : 0;
    if (in->gpr_write & (1u << IP_RBP)) f->known = false;
    if (in->mnem == IP_MN_MOV && in->opsize == 8 && in->n_ops == 2 && in->ops[0].kind == IP_OP_GPR &&
        in->ops[0].reg == IP_RBP && in->ops[1].kind == IP_OP_GPR && in->ops[1].reg == IP_RSP) {
        f->known = true;
        f->off = 0;
    }
}

/* The store goes without a check?  Notes what it defines below RSP. */
static bool on_frame(struct frame *f, const struct ip_insn *in, const struct plan *p) {
    int64_t off;
    if (!p->store || p->load || p->helper || !store_offset(in, f, &off)) return false;
    if (off >= 0) return true;
    if (!f->straight || off < -RED_ZONE) return false;
    if (off < f->lo) f->lo = off;
    return true;
}

/* Does the block go straight to a return, with steps of RSP that are known? */
static bool goes_to_return(const struct ublock *in) {
    for (int k = 0; k < in->n_u; k++) {
        const struct ip_insn *insn = &in->insn[in->u[k].insn];
        struct plan p;
        int64_t step;
        switch (in->u[k].op) {
        case U_COUNT:
        case U_SETNR:
        case U_SEGEA:
        case U_FAREA: break;
        case U_INSN:
            make_plan(insn, &p);
            if (p.helper || !rsp_step(insn, &p, &step)) return false;
            break;
        case U_RET: return true;
        default: return false;
        }
    }
    return false;
}

static struct uinstr *mem_uop(struct ublock *out, int op, int i, const struct uinstr *guest, const struct ip_insn *in,
                              unsigned size) {
    struct uinstr *u = ub_add(out, op, i);
    uaddr_from_mem(&u->m, &in->mem);
    u->size = (uint16_t)size;
    u->via_t = guest->via_t;
    return u;
}

static struct uinstr *based_uop(struct ublock *out, int op, int i, int base, int64_t disp, unsigned size) {
    struct uinstr *u = ub_add(out, op, i);
    u->m.base = (uint8_t)base;
    u->m.disp = disp;
    u->size = (uint16_t)size;
    return u;
}

/* After the guest instruction: shadow of what RSP gave back. */
static void after_insn(struct ublock *out, int i, const struct plan *p) {
    if (out->keeps_stack && !p->loads_sp) return; /* another stack's region is still to be found */
    switch (p->stack) {
    case SK_POP:
    case SK_UP:
        if (p->regained < p->stack_bytes)
            based_uop(out, U_STKUND, i, IP_RSP, -(int64_t)p->stack_bytes, p->stack_bytes - p->regained);
        break;
    case SK_OTHER:
        ub_add(out, U_SPCHG, i)->imm = (p->keeps_red_zone ? SPCHG_RED_ZONE : 0) | (p->loads_sp ? SPCHG_LOADED : 0);
        break;
    default: break;
    }
}

/* RSP goes up at uop k, and what it gives back is read once more before the
 * block, or RSP's stay there, ends (libffi's ffi_call): within the red zone that
 * is the program's right, so the marking waits. */
static bool read_below(const struct ublock *in, int k, const struct plan *p, const struct ip_insn *rises) {
    if (p->stack == SK_NONE || p->stack == SK_PUSH || p->stack == SK_DOWN) return false;
    for (k++; k < in->n_u; k++) {
        const struct ip_insn *insn = &in->insn[in->u[k].insn];
        if (in->u[k].op != U_INSN || (insn->gpr_write & 1u << IP_RSP)) return false;
        if (!insn->mem.present || (insn->mem.access & IP_ACC_ADDR)) continue;
        if (insn->mem.access & IP_ACC_W) return false;
        if (insn->mem.base == IP_RSP && insn->mem.disp < 0) return true;
        if (insn->mem.base == IP_RBP && p->stack == SK_OTHER && rises->mnem != IP_MN_LEAVE) return true;
    }
    return false;
}

/* The same, by way of an address below RSP that the block forms (libffi's
 * closures) or whose word it jumps to (Mono's trampolines: leave, jmp *-16(%rsp)):
 * then the red zone stays until the next call or return. */
static bool forms_below(const struct ublock *in, int k, const struct plan *p) {
    if (p->stack != SK_UP && p->stack != SK_OTHER) return false;
    for (k++; k < in->n_u; k++) {
        const struct ip_insn *insn = &in->insn[in->u[k].insn];
        bool below = insn->mem.present && insn->mem.base == IP_RSP && insn->mem.disp < 0;
        if (in->u[k].op == U_JCC) continue;
        if (below && in->u[k].op == U_JMPI) return true;
        if (in->u[k].op != U_INSN || (insn->gpr_write & 1u << IP_RSP)) return false;
        if (below && insn->mnem == IP_MN_LEA) return true;
    }
    return false;
}

static bool reads_elsewhere(const struct ip_insn *in) {
    const struct ip_mem *m = &in->mem;
    for (int k = 0; k < in->n_ops; k++)
        if (in->ops[k].kind == IP_OP_MEM_IMPL && in->ops[k].reg != IP_RSP && in->mnem != IP_MN_LEAVE) return true;
    if (!m->present || !(m->access & IP_ACC_R) || m->seg || m->base == IP_REG_RIP) return false;
    return m->base != IP_RSP || m->index != IP_REG_NONE || m->disp < 0;
}

/* After uop k the block goes to a call or return, where the red zone is given up,
 * and reads nothing on its way that could lie there.  What pops has pushed before, so what RSP gave back
 * was a frame: an epilogue, though it may end in a jump to another function, which the block may have
 * followed. */
static bool gives_up_red_zone(const struct ublock *in, int k) {
    bool popped = false;
    for (k++; k < in->n_u; k++) {
        const struct ip_insn *insn = &in->insn[in->u[k].insn];
        const struct ip_insn *before = &in->insn[in->u[k - 1].insn];
        if (popped && insn != before && insn->pc != before->pc + before->len) return true;
        switch (in->u[k].op) {
        case U_SEGEA:
        case U_FAREA: break;
        case U_INSN:
            if (reads_elsewhere(insn)) return false;
            popped |= insn->mnem == IP_MN_POP && !insn->mem.present;
            break;
        case U_JMP:
        case U_JMPI: return popped && !reads_elsewhere(insn);
        case U_CALLI: return !reads_elsewhere(insn);
        case U_CALL:
        case U_RET: return true;
        default: return false;
        }
    }
    return false;
}

/* Has the block taken RSP down before uop k otherwise than by pushing? */
static bool stepped_down(const struct ublock *in, int k) {
    while (k-- > 0) {
        struct plan p;
        if (in->u[k].op != U_INSN) continue;
        make_plan(&in->insn[in->u[k].insn], &p);
        if (p.stack == SK_DOWN || p.stack == SK_OTHER) return true;
    }
    return false;
}

/* Does RSP's rise at uop k bring back a red zone that it may have stepped over?  Code that
 * uses the stack in the middle of what the compiler took for a leaf function (the call
 * sequences of wrappers, and inline assembly) first goes down by the zone's size or more
 * and then returns by adding, or to a value it kept; within one block any step is told.
 * The frame that "leave" gives back began with a push: there was no red zone. */
static bool uncovers_red_zone(const struct ublock *in, int k, const struct plan *p, const struct ip_insn *rises) {
    if (rises->mnem == IP_MN_LEAVE || rises->mnem == IP_MN_ENTER || rises->mnem == IP_MN_AND) return false;
    if (p->stack == SK_UP) return (p->stack_bytes >= RED_ZONE || stepped_down(in, k)) && !gives_up_red_zone(in, k);
    return p->stack == SK_OTHER && !gives_up_red_zone(in, k);
}

/* RSP goes up at uop k by a known step, and later in the block down again, over what
 * it gave back (OCaml's calls of C return to an address that was popped to memory):
 * that much stays as it was, for it never left the red zone. */
static unsigned regained(const struct ublock *in, int k, const struct plan *p) {
    int64_t rise = p->stack_bytes, step, level = rise, low = rise;
    if (p->stack != SK_POP && p->stack != SK_UP) return 0;
    for (k++; k < in->n_u && in->u[k].op == U_INSN && low > 0 && level <= RED_ZONE; k++) {
        if (!ip_rsp_step(&in->insn[in->u[k].insn], &step)) break;
        level += step;
        if (level < low) low = level;
    }
    return (unsigned)(rise - (low > 0 ? low : 0));
}

static void copy_uop(struct ublock *out, const struct uinstr *u) {
    if (out->n_u >= UB_MAX_UOPS - 1) {
        out->overflow = true;
        return;
    }
    out->u[out->n_u++] = *u;
}

/* Does it read memory for nothing but flags that nobody looks at?  So compilers touch the pages of a frame (Zig's: test
 * %esp, -4096(%rsp)), which is no use of what is there. */
static bool touches(const struct ublock *in, const struct uinstr *u, const struct ip_insn *insn) {
    return (insn->mnem == IP_MN_TEST || insn->mnem == IP_MN_CMP) && !in->fl_live_before[u->insn + 1];
}

struct pass {
    const struct ublock *in;
    struct ublock *out;
    bool track;
    uint64_t set;            /* clean: registers the entry test covers */
    const struct uinstr *ea; /* pending SEGEA/FAREA of the guest instruction */
    struct frame frame;
    struct plan late; /* RSP's rise that is still to be marked */
    int late_insn;
    bool lowered; /* the instruction at hand lowers what the one before it has loaded: marked behind both */
};

/* Mark what an earlier instruction gave back. */
static void settle(struct pass *ps) {
    after_insn(ps->out, ps->late_insn, &ps->late);
    ps->late.stack = SK_NONE;
}

/* Uop k gives RSP a value, and the next instruction lowers it: what was kept is the upper end of words that are alive,
 * and popped next (Poly/ML, back on its thread's stack).  Between the two nothing is accessed. */
static bool lowered_next(const struct ublock *in, int k, const struct ip_insn *gives, const struct plan *p) {
    struct plan next;
    if (p->stack != SK_OTHER || !(p->loads_sp || gives->mnem == IP_MN_MOV)) return false;
    if (k + 1 >= in->n_u || in->u[k + 1].op != U_INSN || in->u[k + 1].insn != in->u[k].insn + 1) return false;
    make_plan(&in->insn[in->u[k + 1].insn], &next);
    return next.stack == SK_DOWN;
}

/* Uop k lowers RSP by one word and the next returns by it: to the address that was there before RSP rose over it, and
 * has been in the red zone since (FFmpeg's assembly has callees that work in their caller's frame).  As if it were
 * pushed. */
static bool returns_by(const struct ublock *in, int k, const struct plan *p) {
    int64_t step;
    const struct uinstr *u = &in->u[k];
    if (p->stack != SK_DOWN || k + 1 >= in->n_u || u[1].op != U_RET || u[1].insn != u->insn + 1) return false;
    return rsp_step(&in->insn[u->insn], p, &step) && step == -8;
}

/* Mark what uop k gave back, now or later. */
static void gave_back(struct pass *ps, int k, const struct ip_insn *in, struct plan *p) {
    if (ps->lowered) {
        ps->lowered = false;
        settle(ps);
        return;
    }
    if (lowered_next(ps->in, k, in, p)) {
        ps->late = *p;
        ps->late_insn = ps->in->u[k + 1].insn;
        ps->lowered = true;
        return;
    }
    p->regained = regained(ps->in, k, p);
    if (read_below(ps->in, k, p, in)) {
        ps->late = *p;
        ps->late_insn = ps->in->u[k].insn;
    } else {
        after_insn(ps->out, ps->in->u[k].insn, p);
    }
}

/* A step down, where memory that becomes stack may hold values. */
static uint64_t taken(const struct ublock *b, const struct plan *p) {
    return p->stack == SK_DOWN && !b->keeps_stack ? UBIT(IP_U_TAKES) : 0;
}

/* Checks of the operands of a string instruction that does not repeat. */
static void string_uops(struct ublock *out, int load, int store, int i, const struct plan *p) {
    if (p->reads_si) based_uop(out, load, i, IP_RSI, 0, p->reads_si);
    if (p->reads_di) based_uop(out, load, i, IP_RDI, 0, p->reads_di);
    if (p->stores_di) based_uop(out, store, i, IP_RDI, 0, p->stores_di);
}

static void clean_insn(struct pass *ps, const struct uinstr *u, const struct ip_insn *in, const struct plan *p) {
    struct ublock *out = ps->out;
    int i = u->insn;
    ps->set |= touched(in) | taken(ps->in, p);
    if (p->load)
        mem_uop(out, U_LDCHK, i, u, in, p->size);
    else if (p->stack_store)
        mem_uop(out, U_STKDEF, i, u, in, p->size);
    else if (p->store)
        mem_uop(out, U_STCHK, i, u, in, p->size);
    if (p->stack == SK_PUSH) based_uop(out, U_STKDEF, i, IP_RSP, -(int64_t)p->stack_bytes, p->stack_bytes);
    if (p->stack == SK_POP) based_uop(out, U_LDCHK, i, IP_RSP, 0, p->stack_bytes);
    if (in->mnem == IP_MN_LEAVE) based_uop(out, U_LDCHK, i, IP_RBP, 0, 8);
    string_uops(out, U_LDCHK, U_STCHK, i, p);
    if (p->repeats) ub_add(out, U_TRACK, i);
    if (p->stack == SK_OTHER) ub_add(out, U_SPSAVE, i);
    copy_uop(out, u);
}

static void track_insn(struct pass *ps, const struct uinstr *u, const struct ip_insn *in, const struct plan *p) {
    struct ublock *out = ps->out;
    int i = u->insn;
    if (p->stack == SK_OTHER) ub_add(out, U_SPSAVE, i);
    if (p->helper) {
        ub_add(out, U_TRACK, i);
    } else {
        uint64_t set = touched(in) | taken(ps->in, p);
        if (set) ub_add(out, U_TMASK, i)->set = set;
        if (p->load || (p->store && !p->stack_store)) mem_uop(out, U_TMEM, i, u, in, p->size);
        if (p->stack == SK_POP) based_uop(out, U_TMEM, i, IP_RSP, 0, p->stack_bytes);
        if (in->mnem == IP_MN_LEAVE) based_uop(out, U_TMEM, i, IP_RBP, 0, 8);
        string_uops(out, U_TMEM, U_TMEM, i, p);
        if (p->stack_store) mem_uop(out, U_STKDEF, i, u, in, p->size);
        if (p->stack == SK_PUSH) based_uop(out, U_STKDEF, i, IP_RSP, -(int64_t)p->stack_bytes, p->stack_bytes);
        ub_add(out, U_TJOIN, i);
    }
    if (ps->ea) copy_uop(out, ps->ea); /* the helper does not keep temporaries */
    copy_uop(out, u);
}

static void control(struct pass *ps, const struct uinstr *u, const struct ip_insn *in, uint64_t flags) {
    struct ublock *out = ps->out;
    int i = u->insn;
    uint64_t set = touched(in);
    bool call = u->op == U_CALL || u->op == U_CALLI;
    bool mem_target = (u->op == U_CALLI || u->op == U_JMPI) && in->mem.present;
    if (call) set |= UBIT(IP_U_REDZONE); /* a return looks for itself */
    if (call && !out->keeps_stack) set |= UBIT(IP_U_TAKES);
    if (u->op == U_CALL) set &= ~gpr_set(1u << IP_RSP);
    if (u->op == U_EXIT)
        set = 0; /* the runtime looks at V bits itself */
    else if (u->op != U_CALL)
        set |= UBIT(IP_U_TESTED); /* behind a call or jump the block goes on, as far as that is concerned */
    ps->set |= set;
    if (ps->track && set) {
        ub_add(out, U_TMASK, i)->set = set;
        if (mem_target) mem_uop(out, U_TMEM, i, u, in, 8);
        if (u->op == U_RET) based_uop(out, U_TMEM, i, IP_RSP, 0, 8);
        ub_add(out, U_TJOIN, i);
        if (ps->ea) copy_uop(out, ps->ea);
    } else if (!ps->track && mem_target) {
        mem_uop(out, U_LDCHK, i, u, in, 8);
    } else if (!ps->track && u->op == U_RET) {
        based_uop(out, U_LDCHK, i, IP_RSP, 0, 8);
    }
    if (call) {
        based_uop(out, U_STKDEF, i, IP_RSP, -8, 8);
        if (flags & IP_C_CALLSTACK) ub_add(out, U_CSPUSH, i)->imm = u->set;
    }
    copy_uop(out, u);
}

static void instrument(const struct ublock *in, struct ublock *out, uint64_t flags) {
    struct pass ps = {.in = in, .out = out, .track = in->track};
    int entry = 0;

    ps.frame.straight = !in->track && goes_to_return(in);
    if (!in->track && (flags & IP_C_FORCE_TRACK)) {
        for (int k = 0; k < in->n_u && (in->u[k].op == U_COUNT || in->u[k].op == U_SETNR); k++)
            if (in->u[k].op == U_SETNR) copy_uop(out, &in->u[k]); /* only the first translation has it */
        ub_add(out, U_JMP, 0)->imm = in->key | IP_KEY_TRACK;
        return;
    }
    for (int k = 0; k < in->n_u; k++) {
        const struct uinstr *u = &in->u[k];
        const struct ip_insn *insn = &in->insn[u->insn];
        struct plan p;
        switch (u->op) {
        case U_COUNT:
        case U_SETNR:
            copy_uop(out, u);
            entry = out->n_u;
            continue;
        case U_SEGEA:
        case U_FAREA:
            settle(&ps);
            ps.ea = u;
            if (u->op == U_SEGEA && ps.track) {
                /* base and index are tested before they are used here */
            }
            copy_uop(out, u);
            continue;
        case U_INSN:
            make_plan(insn, &p);
            if (u->seg) { /* no operand of ours has its address */
                p.helper = true;
                p.repeats = false;
            }
            if (touches(in, u, insn)) p.load = false;
            if (returns_by(in, k, &p)) {
                p.stack = SK_PUSH;
                p.stack_bytes = 8;
            }
            p.stack_store = on_frame(&ps.frame, insn, &p);
            if (!ps.track && p.helper && !p.repeats) {
                settle(&ps);
                if (ps.ea) out->n_u--; /* its address computation goes with it */
                ub_add(out, U_JMP, u->insn)->imm = insn->pc | IP_KEY_TRACK | IP_KEY_NOREDIR;
                goto done;
            }
            bool again = p.stack == SK_UP && in->taken_back >> u->insn & 1;
            if (again || forms_below(in, k, &p) || uncovers_red_zone(in, k, &p, insn)) {
                p.stack = SK_OTHER;
                p.keeps_red_zone = true;
            }
            if (!ps.lowered && (p.stack != SK_NONE || p.store || p.stores_di || p.helper)) settle(&ps);
            if (ps.track)
                track_insn(&ps, u, insn, &p);
            else
                clean_insn(&ps, u, insn, &p);
            gave_back(&ps, k, insn, &p);
            frame_step(&ps.frame, insn, &p);
            break;
        case U_RDSEG:
        case U_WRSEG:
        case U_GETNR:
            settle(&ps);
            ps.set |= touched(insn);
            if (ps.track) {
                ub_add(out, U_TMASK, u->insn)->set = touched(insn);
                ub_add(out, U_TJOIN, u->insn);
            }
            copy_uop(out, u);
            break;
        case U_JCC:
        case U_LOOPX:
        case U_CALL:
        case U_CALLI:
        case U_JMPI:
        case U_RET:
        case U_EXIT:
            settle(&ps);
            if (u->op == U_RET && ps.frame.lo < 0 && !in->keeps_stack) /* after the instruction before, that is */
                based_uop(out, U_STKUND, u->insn - 1, IP_RSP, ps.frame.lo, (unsigned)-ps.frame.lo);
            control(&ps, u, insn, flags);
            break;
        default:
            settle(&ps);
            copy_uop(out, u);
            break;
        }
        ps.ea = NULL;
    }
done:
    if (!in->track && ps.set && out->n_u < UB_MAX_UOPS - 1) {
        /* The entry test goes before everything it speaks for. */
        memmove(&out->u[entry + 1], &out->u[entry], sizeof out->u[0] * (size_t)(out->n_u - entry));
        out->n_u++;
        struct uinstr *t = &out->u[entry];
        memset(t, 0, sizeof *t);
        t->op = U_UMASK;
        t->t0 = t->m.base = t->m.index = IP_REG_NONE;
        t->set = ps.set;
        t->imm = (in->key & ~(uint64_t)IP_KEY_TRACK) | IP_KEY_TRACK;
    }
}

IP_TOOL_PASS(memcheck, "memcheck", instrument);

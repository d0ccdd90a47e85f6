/* Tracking: an undefined branch that decides nothing.
 *
 * "a && b" may be tested in any order where testing b is harmless, and compilers do: with
 * s known to be 0 only if fl has a bit, "s == 0 && (fl & bit)" can become
 *
 *         cmp $0, s            undefined
 *         jne L
 *         test $bit, fl        defined, says no
 *         je L
 *
 * The branch is undefined, but both ways lead to L.  The rule: a false operand that is
 * defined makes a conjunction defined (docs/architecture.md).  So before an undefined branch is
 * reported, the way that does not go to its other target L at once is walked: instructions
 * that only compute, in registers, up to a branch of which one side is L.  If that is defined and goes
 * there, both ways meet, and nothing depends on the first branch if what was computed on one
 * of them only is dead at L.  If it is undefined, or defined and goes on, the walk goes on,
 * too ("a && b && c").  "a || b" is the same with the other sense.
 *
 * Where it leads to an undefined branch instead, which comes next, that one speaks for both,
 * as under Valgrind: "base == 1 || base > 36" is one use of base.
 */
#include "jit/x86_decode.h"
#include "shadow/track.h"

#define MAX_INSN     24 /* on the walk, all branches together */
#define MAX_BRANCHES 4
#define MAX_AHEAD    96 /* beyond the meeting point, on all ways from there */
#define MAX_PLACES   24 /* where these part or come together */
#define MAX_BETWEEN  2  /* from a branch to the one that speaks for both; Valgrind's number */
#define MAX_LEAVING  3  /* to a return, that is: what is that short, Valgrind does not join */
#define DECODED      64
#define FLAGS        (IP_FL_CF | IP_FL_PF | IP_FL_ZF | IP_FL_SF | IP_FL_OF)

#define REG(r)       (1u << (r))
#define CALLEE_SAVED (REG(IP_RBX) | REG(IP_RBP) | REG(IP_RSP) | REG(IP_R12) | REG(IP_R13) | REG(IP_R14) | REG(IP_R15))
#define ARGUMENTS    (REG(IP_RDI) | REG(IP_RSI) | REG(IP_RDX) | REG(IP_RCX) | REG(IP_R8) | REG(IP_R9))

/* What a walk changes, to be put back. */
struct kept {
    u64 gpr[16], vgpr[16], rflags, umask;
    u8 vflags;
};

static void keep(struct kept *k, const struct tstate *ts) {
    memcpy(k->gpr, ts->gpr, sizeof k->gpr);
    memcpy(k->vgpr, ts->vgpr, sizeof k->vgpr);
    k->rflags = ts->rflags;
    k->umask = ts->umask;
    k->vflags = ts->vflags;
}

static void put_back(const struct kept *k, struct tstate *ts) {
    memcpy(ts->gpr, k->gpr, sizeof k->gpr);
    memcpy(ts->vgpr, k->vgpr, sizeof k->vgpr);
    ts->rflags = k->rflags;
    ts->umask = k->umask;
    ts->vflags = k->vflags;
}

/* What was decoded here: a loop with an undefined branch comes again and again, and decoding was a third of its time.
 * The bytes decide, so code that changes needs no word. */
static struct ip_insn decoded[DECODED];
static rt_lock_t decoded_lock;

static struct ip_insn *decoded_at(u64 pc) { return &decoded[(pc ^ pc >> 6) % DECODED]; }

static bool known(u64 pc, const u8 *code, unsigned n, struct ip_insn *in) {
    const struct ip_insn *slot = decoded_at(pc);
    if (slot->pc != pc || !slot->len || slot->len > n || !rt_trylock(&decoded_lock)) return false;
    bool is = slot->pc == pc && slot->len && slot->len <= n && memcmp(slot->bytes, code, slot->len) == 0;
    if (is) *in = *slot;
    rt_unlock(&decoded_lock);
    return is;
}

bool tk_fetch(u64 pc, struct ip_insn *in) {
    u8 code[16];
    unsigned n = 15, here = 4096 - (unsigned)(pc & 4095);
    if (rt_copy_from(code, pc, n) != 0) {
        if (here >= n || rt_copy_from(code, pc, here) != 0) return false;
        n = here;
    }
    if (known(pc, code, n, in)) return true;
    if (ip_decode(code, n, pc, in) <= 0) return false;
    if (rt_trylock(&decoded_lock)) {
        *decoded_at(pc) = *in;
        rt_unlock(&decoded_lock);
    }
    return true;
}

/* Where a place that may only jump on leads. */
static u64 onward(u64 pc) {
    struct ip_insn in;
    for (unsigned i = 0; i < MAX_BRANCHES && tk_fetch(pc, &in) && in.flow == IP_F_JMP; i++) pc = in.target;
    return pc;
}

/* Places that have to be looked at, or were: all ways from a meeting point, of which many come together again. */
struct ways {
    struct place {
        u64 pc;
        u32 regs, flags;
    } places[MAX_PLACES];
    unsigned n, ahead; /* ahead: instructions that may still be looked at */
};

static bool also(struct ways *w, u64 pc, u32 regs, u32 flags) {
    for (unsigned i = 0; i < w->n; i++) {
        const struct place *p = &w->places[i];
        if (p->pc == pc && !(regs & ~p->regs) && !(flags & ~p->flags)) return true;
    }
    if (w->n == MAX_PLACES) return false;
    w->places[w->n++] = (struct place){pc, regs, flags};
    return true;
}

/* From one place to the next branch. */
static bool dead_on(struct ways *w, u64 pc, u32 regs, u32 flags) {
    struct ip_insn in;
    while (regs | flags) {
        if (!w->ahead-- || !tk_fetch(pc, &in)) return false;
        if ((in.gpr_read & regs) || (in.fl_read & flags)) return false;
        switch (in.flow) {
        case IP_F_NEXT: break;
        case IP_F_JMP: return also(w, in.target, regs, flags);
        case IP_F_JCC: return also(w, in.target, regs, flags) && also(w, pc + in.len, regs, flags);
        case IP_F_CALL:
            /* By the ABI.  Of the others, a callee reads what is one of its arguments. */
            if ((regs & ARGUMENTS) && !also(w, in.target, regs & ARGUMENTS, 0)) return false;
            regs &= CALLEE_SAVED;
            flags = 0;
            break;
        case IP_F_RET: return !(regs & (CALLEE_SAVED | REG(IP_RAX)));
        default: return false;
        }
        pc += in.len;
        regs &= ~(u32)in.gpr_kill;
        flags &= ~in.fl_kill;
    }
    return true;
}

/* May registers and flags have any value at pc?  false: not known. */
static bool dead_at(u64 pc, u32 regs, u32 flags) {
    struct ways w = {.places = {{pc, regs, flags}}, .n = 1, .ahead = MAX_AHEAD};
    for (unsigned i = 0; i < w.n; i++)
        if (!dead_on(&w, w.places[i].pc, w.places[i].regs, w.places[i].flags)) return false;
    return true;
}

static bool condition(unsigned cc, u64 f) {
    bool c = f & IP_FL_CF, z = f & IP_FL_ZF, s = f & IP_FL_SF, o = f & IP_FL_OF, p = f & IP_FL_PF, is;
    switch (cc >> 1) {
    case 0: is = o; break;
    case 1: is = c; break;
    case 2: is = z; break;
    case 3: is = c || z; break;
    case 4: is = s; break;
    case 5: is = p; break;
    case 6: is = s != o; break;
    default: is = z || s != o; break;
    }
    return is != (cc & 1);
}

static void set_flags(struct tstate *ts, u64 r, unsigned n, bool c, bool o) {
    r &= tk_mask(n);
    bool even = !(__builtin_popcountll(r & 0xff) & 1);
    ts->rflags = (ts->rflags & ~(u64)FLAGS) | (c ? IP_FL_CF : 0) | (even ? IP_FL_PF : 0) | (r ? 0 : IP_FL_ZF) |
                 (r >> (8 * n - 1) & 1 ? IP_FL_SF : 0) | (o ? IP_FL_OF : 0);
}

static void set_gpr(struct tstate *ts, const struct ip_operand *op, u64 v) {
    u64 m = tk_mask(op->size);
    ts->gpr[op->reg] = op->size >= 4 ? v & m : (ts->gpr[op->reg] & ~m) | (v & m);
}

/* OF after more than one step is the CPU's choice; nobody asks for it. */
static u64 shifted(struct tstate *ts, unsigned mnem, u64 a, unsigned k, unsigned n) {
    u64 m = tk_mask(n), r;
    unsigned top = 8 * n - 1;
    bool c, o;
    a &= m;
    if (!k) return a;
    if (mnem == IP_MN_SHL || mnem == IP_MN_SAL) {
        r = a << k & m;
        c = k <= top + 1 && (a >> (top + 1 - k) & 1);
        o = (r >> top & 1) != c;
    } else {
        i64 from = mnem == IP_MN_SAR ? (i64)tk_sext(a, n) : (i64)a;
        r = (mnem == IP_MN_SAR ? (u64)(from >> k) : a >> k) & m;
        c = (mnem == IP_MN_SAR ? (u64)(from >> (k - 1)) : a >> (k - 1)) & 1;
        o = mnem == IP_MN_SHR && (a >> top & 1);
    }
    set_flags(ts, r, n, c, o);
    return r;
}

static void set_carry(struct tstate *ts, bool c) { ts->rflags = (ts->rflags & ~(u64)IP_FL_CF) | (c ? IP_FL_CF : 0); }

/* OF after more than one step as above. */
static u64 rotated(struct tstate *ts, bool left, u64 a, unsigned count, unsigned n) {
    u64 m = tk_mask(n);
    unsigned bits = 8 * n, k = count % bits, l = left ? k : bits - k;
    a &= m;
    if (!count) return a;
    if (k) a = (a << l | a >> (bits - l)) & m;
    bool top = a >> (bits - 1) & 1, c = left ? a & 1 : top;
    set_carry(ts, c);
    ts->rflags &= ~(u64)IP_FL_OF;
    if (left ? top != c : top != (a >> (bits - 2) & 1)) ts->rflags |= IP_FL_OF;
    return a;
}

/* As the CPU takes it. */
static unsigned count_of(struct tk *t) {
    return t->in->n_ops > 1 ? (unsigned)tk_rd(t, 1).v & (t->in->ops[0].size == 8 ? 63 : 31) : 1;
}

/* The value of an instruction that only computes, and its flags; false: none of them.  The operands' values are
 * taken before. */
static bool value_of(struct tk *t, u64 *r) {
    const struct ip_insn *in = t->in;
    struct tstate *ts = t->ts;
    unsigned n = in->ops[0].size, top = 8 * n - 1;
    u64 m = tk_mask(n), a, b;
    bool carry = ts->rflags & IP_FL_CF;
    if (in->cc != 0xff) { /* setcc, cmovcc */
        bool is = condition(in->cc, ts->rflags);
        *r = in->n_ops == 1 ? is : tk_rd(t, is ? 1 : 0).v;
        return true;
    }
    switch (in->mnem) {
    case IP_MN_LEA: *r = tk_ea_raw(t); return true;
    case IP_MN_MOV:
    case IP_MN_MOVZX: *r = tk_rd(t, 1).v; return true;
    case IP_MN_MOVSX:
    case IP_MN_MOVSXD: *r = tk_sext(tk_rd(t, 1).v, in->ops[1].size); return true;
    case IP_MN_AND:
    case IP_MN_TEST:
        *r = tk_rd(t, 0).v & tk_rd(t, 1).v;
        set_flags(ts, *r, n, false, false);
        return true;
    case IP_MN_OR:
        *r = tk_rd(t, 0).v | tk_rd(t, 1).v;
        set_flags(ts, *r, n, false, false);
        return true;
    case IP_MN_XOR:
        *r = tk_rd(t, 0).v ^ tk_rd(t, 1).v;
        set_flags(ts, *r, n, false, false);
        return true;
    case IP_MN_ADD:
    case IP_MN_ADC:
        a = tk_rd(t, 0).v & m, b = tk_rd(t, 1).v & m, carry &= in->mnem == IP_MN_ADC;
        *r = (a + b + carry) & m;
        set_flags(ts, *r, n, carry ? *r <= a : *r < a, (~(a ^ b) & (a ^ *r)) >> top & 1);
        return true;
    case IP_MN_SUB:
    case IP_MN_SBB:
    case IP_MN_CMP:
        a = tk_rd(t, 0).v & m, b = tk_rd(t, 1).v & m, carry &= in->mnem == IP_MN_SBB;
        *r = (a - b - carry) & m;
        set_flags(ts, *r, n, carry ? a <= b : a < b, ((a ^ b) & (a ^ *r)) >> top & 1);
        return true;
    case IP_MN_INC:
    case IP_MN_DEC:
        a = tk_rd(t, 0).v & m, b = in->mnem == IP_MN_INC ? 1 : m;
        *r = (a + b) & m;
        set_flags(ts, *r, n, carry, (~(a ^ b) & (a ^ *r)) >> top & 1);
        return true;
    case IP_MN_NEG:
        a = tk_rd(t, 0).v & m;
        *r = -a & m;
        set_flags(ts, *r, n, a, (a & *r) >> top & 1);
        return true;
    case IP_MN_NOT: *r = ~tk_rd(t, 0).v; return true;
    case IP_MN_SHL:
    case IP_MN_SAL:
    case IP_MN_SHR:
    case IP_MN_SAR: *r = shifted(ts, in->mnem, tk_rd(t, 0).v, count_of(t), n); return true;
    case IP_MN_ROL:
    case IP_MN_ROR: *r = rotated(ts, in->mnem == IP_MN_ROL, tk_rd(t, 0).v, count_of(t), n); return true;
    case IP_MN_BT:
        *r = 0;
        set_carry(ts, tk_rd(t, 0).v >> (tk_rd(t, 1).v & top) & 1);
        return true;
    case IP_MN_IMUL: { /* SF, ZF and PF are the CPU's choice; nobody asks for them */
        if (in->n_ops == 1) return false;
        __int128 p = (__int128)(i64)tk_sext(tk_rd(t, in->n_ops - 2).v & m, n) *
                     (i64)tk_sext(tk_rd(t, in->n_ops - 1).v & m, n);
        bool lost = p != (i64)tk_sext((u64)p & m, n);
        *r = (u64)p & m;
        set_flags(ts, *r, n, lost, lost);
        return true;
    }
    default: return false;
    }
}

/* The sign extensions of RAX, whose registers are no operands. */
static bool widens(struct tstate *ts, const struct ip_insn *in, u32 *regs) {
    struct tk t = {.ts = ts, .in = in};
    u64 a = ts->gpr[IP_RAX];
    switch (in->mnem) {
    case IP_MN_CWDE: ts->gpr[IP_RAX] = (u32)tk_sext(a & 0xffff, 2); break;
    case IP_MN_CDQE: ts->gpr[IP_RAX] = tk_sext(a & 0xffffffff, 4); break;
    case IP_MN_CDQ: ts->gpr[IP_RDX] = a >> 31 & 1 ? 0xffffffff : 0; break;
    case IP_MN_CQO: ts->gpr[IP_RDX] = a >> 63 ? ~0ull : 0; break;
    default: return false;
    }
    *regs |= in->gpr_write;
    return tk_int(&t);
}

/* Compute one instruction of the walk, V bits and values, if nothing can come of it. */
static bool compute(struct tstate *ts, const struct ip_insn *in, u32 *regs) {
    struct tk t = {.ts = ts, .in = in};
    if (in->mnem == IP_MN_NOP || in->mnem == IP_MN_ENDBR64) return true;
    if (in->lock || in->rep) return false;
    if (!in->n_ops) return widens(ts, in, regs);
    bool writes = in->mnem != IP_MN_CMP && in->mnem != IP_MN_TEST && in->mnem != IP_MN_BT;
    if (writes && (in->ops[0].kind != IP_OP_GPR || in->ops[0].high8 || in->ops[0].reg == IP_RSP)) return false;
    for (unsigned i = 0; i < in->n_ops; i++)
        if (in->ops[i].kind != IP_OP_GPR && in->ops[i].kind != IP_OP_MEM && in->ops[i].kind != IP_OP_IMM) return false;
    if (in->mem.present && (!(in->mem.access & IP_ACC_ADDR) || (ts->umask & in->addr_read))) return false;
    u64 flags = ts->rflags, r, after;
    if (!value_of(&t, &r)) return false;
    after = ts->rflags;
    ts->rflags = flags;
    if (!tk_int(&t) && !tk_bits(&t)) return false;
    ts->rflags = after;
    if (writes) {
        set_gpr(ts, &in->ops[0], r);
        *regs |= REG(in->ops[0].reg);
    }
    return true;
}

/* Does the way from pc lead to meet, whatever it computes that is undefined? */
static bool leads_to(struct tstate *ts, u64 pc, u64 meet) {
    u32 regs = 0, flags = 0;
    unsigned branches = 0;
    for (unsigned i = 0; i < MAX_INSN; i++) {
        struct ip_insn in;
        if (pc == meet) return dead_at(meet, regs, flags);
        if (!tk_fetch(pc, &in)) return false;
        u64 next = pc + in.len;
        switch (in.flow) {
        case IP_F_NEXT:
            if (!compute(ts, &in, &regs)) return false;
            flags |= in.fl_write & IP_FL_ARITH;
            pc = next;
            break;
        case IP_F_JMP: pc = in.target; break;
        case IP_F_JCC: {
            u64 target = onward(in.target);
            bool known = !(ts->vflags >> (in.cc >> 1) & 1), taken = condition(in.cc, ts->rflags);
            next = onward(next);
            if ((target != meet && next != meet) || ++branches > MAX_BRANCHES) return false;
            if (known)
                pc = taken ? target : next;
            else
                pc = target == meet ? next : target;
            break;
        }
        default: return false;
        }
    }
    return false;
}

bool tk_branches_meet(struct tstate *ts, const struct ip_insn *in) {
    struct kept k;
    u64 next = onward(ts->pc + in->len), target = onward(ts->pc + in->target);
    if (in->target == in->len) return false; /* written to have a value looked at, as in our stubs */
    keep(&k, ts);
    bool meet = leads_to(ts, next, target);
    put_back(&k, ts);
    if (!meet) {
        meet = leads_to(ts, target, next);
        put_back(&k, ts);
    }
    return meet;
}

static bool returns_soon(u64 pc) {
    struct ip_insn in;
    for (unsigned i = 0; i < MAX_LEAVING && tk_fetch(pc, &in); i++) {
        if (in.flow == IP_F_RET) return true;
        if (in.flow != IP_F_NEXT) return false;
        pc += in.len;
    }
    return false;
}

/* The branch that comes next on the way from pc, if one side of it is meet, and nothing before it needs a look at
 * memory; else 0. */
static u64 next_branch(u64 pc, u64 meet) {
    for (unsigned i = 0; i <= MAX_BETWEEN; i++) {
        struct ip_insn in;
        if (!tk_fetch(pc, &in)) return 0;
        if (in.flow == IP_F_JCC) return in.target == meet || pc + in.len == meet ? pc : 0;
        if (in.flow != IP_F_NEXT || (in.mem.present && !(in.mem.access & IP_ACC_ADDR))) return 0;
        pc += in.len;
    }
    return 0;
}

/* Will the branch at `branch` be undefined, when what lies before it has run from pc on? */
static bool will_be_undefined(struct tstate *ts, u64 pc, u64 branch) {
    struct ip_insn in;
    struct kept k;
    u32 regs = 0;
    bool sure = true;
    keep(&k, ts);
    for (; sure && pc != branch; pc += in.len) sure = tk_fetch(pc, &in) && compute(ts, &in, &regs);
    sure = sure && tk_fetch(branch, &in) && (ts->vflags >> (in.cc >> 1) & 1);
    put_back(&k, ts);
    return sure;
}

/* A branch that has spoken for the one before it leaves none to the one behind: their causes may be others. */
bool tk_branch_joined(struct tstate *ts, const struct ip_insn *in) {
    struct rt_thread *th = rt_th(ts);
    u64 next = ts->pc + in->len, target = ts->pc + in->target;
    u64 speaks = th->joining_branch, to = condition(in->cc, ts->rflags) ? target : next;
    th->joining_branch = 0;
    if (speaks == ts->pc || target == next) return false;
    u64 meet = to == next ? target : next, branch = next_branch(to, meet);
    if (!branch || returns_soon(meet) || !will_be_undefined(ts, to, branch)) return false;
    th->joining_branch = branch;
    return true;
}

/* Stage 5: gives temporaries host registers: spilled ones first, then dead
 * ones, which need no restoring.  A register's spill slot is
 * tstate.gpr[register], so "which registers are spilled" is all that precise
 * state needs to know: a dead register is saved too, because a fault before its
 * next write shows it.  A spilled register is restored lazily: when a guest
 * instruction needs it or the block is left.
 */
#include <string.h>

#include "abi/channel.h"
#include "abi/tstate.h"
#include "jit/ucode.h"

/* No SIB or displacement needed as a base, no REX.B in the low half. */
#define EASY (REG_BIT(IP_RAX) | REG_BIT(IP_RCX) | REG_BIT(IP_RDX) | REG_BIT(IP_RBX) | REG_BIT(IP_RSI) | REG_BIT(IP_RDI))
#define MORE (REG_BIT(IP_R8) | REG_BIT(IP_R9) | REG_BIT(IP_R10) | REG_BIT(IP_R11) | REG_BIT(IP_R14) | REG_BIT(IP_R15))

struct alloc {
    struct ublock *out;
    uint16_t spilled;
    uint8_t ea_reg;     /* holds SEGEA/FAREA until the guest instruction, or NONE */
    uint8_t record;     /* may hold where records go, or NONE */
    bool stubs_restore; /* those of side exits, what is spilled there */
    uint64_t random;    /* state of the random choices, 0: there are none */
};

/* A register of the set: the first, which has the shortest encodings. */
static int pick_of(struct alloc *a, uint16_t set) {
    if (a->random) {
        a->random = a->random * 0x5851f42d4c957f2dull + 1442695040888963407ull;
        for (unsigned skip = (unsigned)(a->random >> 33) % (unsigned)__builtin_popcount(set); skip; skip--)
            set &= (uint16_t)(set - 1);
    }
    return __builtin_ctz(set);
}

static void unspill(struct alloc *a, uint16_t regs, const struct uinstr *at) {
    for (unsigned left = regs & a->spilled; left; left &= left - 1) {
        int r = __builtin_ctz(left);
        struct uinstr *u = ub_add(a->out, U_UNSPILL, at->insn);
        u->reg = (uint8_t)r;
        u->after_insn = at->after_insn;
        a->spilled &= (uint16_t)~REG_BIT(r);
        u->spilled = a->spilled;
    }
}

static void spill(struct alloc *a, int r, const struct uinstr *at) {
    if (a->spilled >> r & 1) return;
    struct uinstr *u = ub_add(a->out, U_SPILL, at->insn);
    u->reg = (uint8_t)r;
    u->after_insn = at->after_insn;
    a->spilled |= (uint16_t)REG_BIT(r);
    u->spilled = a->spilled;
}

static uint16_t addr_regs(const struct uaddr *m) {
    uint16_t s = 0;
    if (m->base < 16) s |= (uint16_t)REG_BIT(m->base);
    if (m->index < 16) s |= (uint16_t)REG_BIT(m->index);
    return s;
}

/* Where a run is recorded, the stub of a side exit gets registers back, too, so that they need not be had for it. */
static bool is_late(const struct alloc *a, const struct uinstr *u) {
    return u->op == U_JCC && u->set && a->stubs_restore;
}

/* Of the registers, those that longest hold what they are given at the uinstr k: until the guest's value is asked for
 * or another one comes.  Those of them that are used in one place last. */
static uint16_t longest_of(const struct alloc *a, const struct ublock *b, int k, uint16_t regs) {
    for (int j = k + 1; j < b->n_u; j++) {
        const struct uinstr *u = &b->u[j];
        uint16_t used = u->via_t ? 0 : addr_regs(&u->m);
        if (u->op == U_INSN) used |= (uint16_t)(b->insn[u->insn].gpr_read | b->insn[u->insn].gpr_write);
        if (uop_does(u->op, UE_WHOLE) && !is_late(a, u)) break;
        if ((regs & ~used) == 0) break;
        regs &= (uint16_t)~used;
    }
    return regs;
}

/* A register outside avoid: already spilled, else spilled now, dead ones first; or, at random, any. */
static int take(struct alloc *a, uint16_t avoid, uint16_t dead, const struct uinstr *at, bool low_only) {
    uint16_t cand = (uint16_t)((low_only ? EASY : (EASY | MORE)) & ~avoid);
    uint16_t pick = cand & a->spilled;
    if (pick && !a->random) return pick_of(a, pick & dead ? pick & dead : pick);
    pick = cand & dead;
    if (!pick || a->random) pick = cand;
    int r = pick_of(a, pick);
    spill(a, r, at);
    return r;
}

static bool stores_word(const struct uinstr *u) { return u->op == U_RECADDR || u->op == U_RECWORD || u->op == U_RECZF; }

/* For what a record gets at the uinstr k: a register outside avoid that is spilled already; else, if more words follow,
 * that which lasts longest, for they need one, too; else one that is dead. */
static int take_lasting(struct alloc *a, uint16_t avoid, const struct uinstr *at, const struct ublock *b, int k) {
    uint16_t pick = (uint16_t)((EASY | MORE) & ~avoid);
    bool more = false;
    if (a->random) return take(a, avoid, at->dead, at, false);
    for (int j = k + 1; j < b->n_u && !more; j++) more = stores_word(&b->u[j]);
    if (pick & a->spilled) pick &= a->spilled;
    if (more) pick = longest_of(a, b, k, pick);
    if (pick & at->dead) pick &= at->dead;
    int r = pick_of(a, pick);
    spill(a, r, at);
    return r;
}

static void check_temp(struct alloc *a, struct uinstr *u) {
    uint16_t in_addr = u->via_t ? 0 : addr_regs(&u->m);
    if (u->fl_live) {
        /* jrcxz is the only test that leaves flags alone. */
        spill(a, IP_RCX, u);
        u->t0 = IP_RCX;
    } else if ((u->op == U_LDCHK || u->op == U_EARLY || u->op == U_STCHK || u->op == U_TMEM) && u->size >= 16 &&
               u->size != 10) {
        uint16_t avoid = in_addr;
        if (a->ea_reg != IP_REG_NONE) avoid |= (uint16_t)REG_BIT(a->ea_reg);
        u->t0 = (uint8_t)take(a, avoid, u->dead, u, false);
    }
}

uint16_t ip_address_temps(const struct ip_insn *in) {
    return (uint16_t)(EASY & ~(in->gpr_read | in->gpr_write | REG_BIT(IP_RCX)));
}

static void address_temp(struct alloc *a, struct uinstr *u, const struct ublock *b, int k) {
    const struct ip_insn *in = &b->insn[u->insn];
    uint16_t avoid = (uint16_t)(in->gpr_read | in->gpr_write | REG_BIT(IP_RCX));
    int guest = U_INSN;
    for (int j = k + 1; j < b->n_u && b->u[j].insn == u->insn; j++)
        if (b->u[j].op == U_JMPI || b->u[j].op == U_CALLI) guest = b->u[j].op;
    if (guest != U_INSN) {
        spill(a, IP_RAX, u); /* all others are restored before a jump */
        u->t0 = IP_RAX;
    } else {
        u->t0 = (uint8_t)take(a, avoid, u->dead, u, true);
    }
    a->ea_reg = u->t0;
}

void ip_stage5_allocate(struct ublock *b, struct ublock *out, const struct ip_jit_opts *o) {
    struct alloc a = {.out = out, .ea_reg = IP_REG_NONE, .record = IP_REG_NONE};
    a.stubs_restore = !(o->flags & IP_C_COUNT);
    if (o->random_registers) a.random = (o->random_registers ^ b->key * 0x9e3779b97f4a7c15ull) | 1;
    ub_copy_head(out, b);
    for (int k = 0; k < b->n_u && !out->overflow; k++) {
        struct uinstr u = b->u[k];
        const struct ip_insn *in = &b->insn[u.insn];
        uint16_t need;
        if (u.via_t && u.op != U_INSN) {
            memset(&u.m, 0, sizeof u.m);
            u.m.base = a.ea_reg;
            u.m.index = IP_REG_NONE;
            u.m.scale = 1;
        } else if (!u.via_t) {
            unspill(&a, addr_regs(&u.m), &u);
        }
        switch (u.op) {
        case U_SEGEA:
        case U_FAREA:
            if (a.ea_reg < 16 && (a.spilled >> a.ea_reg & 1)) unspill(&a, (uint16_t)REG_BIT(a.ea_reg), &u);
            a.ea_reg = IP_REG_NONE;
            unspill(&a, addr_regs(&u.m), &u);
            address_temp(&a, &u, b, k);
            break;
        case U_INSN:
            need = (uint16_t)(in->gpr_read | (in->gpr_write & ~in->gpr_kill));
            if (u.via_t) u.t0 = a.ea_reg;
            if (u.seg) {
                unspill(&a, need, &u);
                u.t0 = (uint8_t)take(&a, (uint16_t)(in->gpr_read | in->gpr_write), u.dead, &u, false);
            }
            if (a.ea_reg < 16) need &= (uint16_t)~REG_BIT(a.ea_reg);
            unspill(&a, need, &u);
            break;
        case U_RDSEG:
        case U_GETNR: a.spilled &= (uint16_t)~in->gpr_kill; break;
        case U_JMPI:
        case U_CALLI:
            unspill(&a, (uint16_t)~(u.via_t ? REG_BIT(IP_RAX) : 0), &u);
            if (!u.via_t && !in->mem.present) u.reg = in->ops[0].reg;
            if (u.via_t) u.t0 = IP_RAX;
            break;
        case U_COUNT:
        case U_TALLY:
            spill(&a, IP_RCX, &u);
            u.t0 = IP_RCX;
            break;
        case U_RECORD:
        case U_RUN:
            if (u.fl_live) { /* jrcxz is the only test that leaves flags alone */
                spill(&a, IP_RCX, &u);
                u.t0 = a.record = IP_RCX;
                break;
            }
            /* fall through */
        case U_RECWORD:
        case U_RECZF:
        case U_RECADDR:
        case U_CSPUSH: {
            uint16_t avoid = (uint16_t)(in->gpr_read | REG_BIT(IP_RSP) | addr_regs(&u.m));
            if (a.ea_reg < 16) avoid |= (uint16_t)REG_BIT(a.ea_reg);
            uint16_t again = (uint16_t)(a.record < 16 ? REG_BIT(a.record) : 0) & a.spilled & (uint16_t)~avoid;
            u.t0 = again && !a.random ? a.record : (uint8_t)take_lasting(&a, avoid, &u, b, k);
            if (u.op != U_CSPUSH) a.record = u.t0;
            avoid |= (uint16_t)REG_BIT(u.t0);
            if (u.op == U_RECADDR && uaddr_is_sum(&u.m)) u.reg = (uint8_t)take_lasting(&a, avoid, &u, b, k);
            break;
        }
        case U_JCC:
            u.late = is_late(&a, &u);
            if (!u.late) unspill(&a, 0xffff, &u);
            break;
        default:
            if (uop_does(u.op, UE_WHOLE)) unspill(&a, 0xffff, &u);
            if (uop_does(u.op, UE_CHECK)) check_temp(&a, &u);
            break;
        }
        struct uinstr *n = ub_add(out, u.op, u.insn);
        *n = u;
        n->set = u.set;
        n->spilled = a.spilled; /* registers in their slots while this uinstr runs */
        if (u.op == U_INSN) {
            a.ea_reg = IP_REG_NONE;
            a.spilled &= (uint16_t)~in->gpr_kill; /* not before: it may fault */
        }
    }
    if (out->overflow) b->overflow = true;
}

/* The verifier of UCode: what every stage may rely on, in one place.
 *
 * Operands follow from the table of uops (ucode.h).  Beyond them:
 *  - guest instructions are carried out once and in order, and nothing follows the end of the block;
 *  - a temporary has its value when it is used, and none survives the tracking helper;
 *  - a tracking check has a place where the helper resumes, before the instruction it guards;
 *  - RSP is remembered before the instruction after which its change is told;
 *  - liveness is that of stage 2 at the place where the uinstr stands;
 *  - after stage 5, a register that a uinstr needs is in its host register, one that it clobbers is in its slot,
 *    and the mask of spilled registers, from which faults and signals find the guest's state, is right.
 */
#include <stdarg.h>
#include <stdio.h>

#include "jit/ucode.h"

struct check {
    const struct ublock *b;
    int stage, k; /* k: uinstr under way */
    char *why;
    size_t cap;
    /* What came before. */
    int newest;                  /* greatest number of a guest instruction that a uinstr belongs to */
    int done;                    /* the newest that was carried out */
    const struct uinstr *last;   /* guest uinstr that was last */
    int temp_insn;               /* guest instruction whose address temporary has its value, or -1 */
    int guarded;                 /* guest instruction whose checks still want their TJOIN, or -1 */
    int sp_saved;                /* guest instruction for which RSP was remembered, or -1 */
    uint16_t spilled, clobbered; /* stage 5: in their slots; of them: with something else in the host register */
    uint8_t temp_reg;            /* stage 5: holds the address temporary */
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct check *c, const char *fmt, ...) {
    const struct uinstr *u = &c->b->u[c->k];
    int n = snprintf(c->why, c->cap, "UCode after stage %d, %d %s: ", c->stage, c->k,
                     u->op < U_COUNT_OF ? ip_uops[u->op].text : "?");
    va_list ap;
    va_start(ap, fmt);
    if (n >= 0 && (size_t)n < c->cap) vsnprintf(c->why + n, c->cap - (size_t)n, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- Operands ---------------------------------------------------------------------------------------------- */

_Static_assert(IP_X_DIRECT == 0 && IP_X_BREAK < IP_XS_LOAD && IP_XS_WATCH <= UINT8_MAX,
               "ORDER ip_exit_kind: direct, what the runtime is left for, slow paths; ip_exit.kind_aux has 8 bits");
static bool is_exit_kind(unsigned kind) { return kind >= IP_X_SYSCALL && kind <= IP_X_BREAK; }

static bool check_address(struct check *c, const struct uinstr *u, bool has_mem) {
    const struct uaddr *m = &u->m;
    bool base = m->base < 16 || m->base == IP_REG_NONE || m->base == IP_REG_RIP;
    if (!has_mem) return (m->base == IP_REG_NONE && m->index == IP_REG_NONE) || refuse(c, "has no memory operand");
    if (m->seg) return refuse(c, "segment %u of a guest address", m->seg);
    if (!base || (m->index >= 16 && m->index != IP_REG_NONE)) return refuse(c, "address of no general registers");
    if (m->index == IP_RSP) return refuse(c, "RSP as index");
    if (m->base == IP_REG_RIP && m->index != IP_REG_NONE) return refuse(c, "rip-relative with an index");
    if (m->scale != 1 && m->scale != 2 && m->scale != 4 && m->scale != 8) return refuse(c, "scale %u", m->scale);
    return true;
}

static bool check_operands(struct check *c, const struct uinstr *u) {
    unsigned has = ip_uops[u->op].operands;
    bool jump = u->op == U_JMPI || u->op == U_CALLI;
    if (!check_address(c, u, has & UO_MEM || (c->stage >= 5 && u->via_t && u->op != U_INSN))) return false;
    if (u->via_t && !(has & UO_VIA)) return refuse(c, "has no temporary as operand");
    if (has & UO_SIZE ? u->size == 0 : has & UO_WORD ? u->size != 4 && u->size != 8 : 0)
        return refuse(c, "size %u", u->size);
    if (has & UO_LAYOUT ? u->size > IP_X87_ENV16 : !(has & (UO_SIZE | UO_WORD)) && u->size)
        return refuse(c, "size %u", u->size);
    if (u->imm && !(has & UO_IMM)) return refuse(c, "has no immediate");
    if (u->set && !(has & UO_SET)) return refuse(c, "has no set");
    if (uop_does(u->op, UE_CHECK) && (has & UO_SET) && !u->set) return refuse(c, "tests nothing");
    if (has & UO_REG ? u->reg >= 16 : u->reg && !(jump && c->stage >= 5)) return refuse(c, "register %u", u->reg);
    bool seg = u->seg == IP_SEG_FS || u->seg == IP_SEG_GS;
    if (has & UO_SEG ? !seg : u->seg && !(seg && has & UO_ANY_SEG)) return refuse(c, "segment %u", u->seg);
    unsigned most = has & UO_CC ? IP_CC_NLE : has & UO_RUN ? RUN_LINK : 0;
    if (has & UO_EXIT ? !is_exit_kind(u->kind) : u->kind > most) return refuse(c, "kind %u", u->kind);
    if (u->late && (c->stage < 5 || u->op != U_JCC || !u->set)) return refuse(c, "leaves nothing to a stub");
    if (c->stage < 5 && (u->t0 != IP_REG_NONE || u->spilled)) return refuse(c, "has registers before stage 5");
    return true;
}

/* ---- Places ------------------------------------------------------------------------------------------------ */

static bool check_place(struct check *c, const struct uinstr *u) {
    bool late = u->op == U_STKUND || u->op == U_SPCHG; /* marks may be put off */
    bool allocation = u->op == U_SPILL || u->op == U_UNSPILL;
    if (ip_uops[u->op].stage > c->stage) return refuse(c, "belongs to stage %d", ip_uops[u->op].stage);
    if (u->insn < 0 || u->insn >= c->b->n_insn) return refuse(c, "guest instruction %d of %d", u->insn, c->b->n_insn);
    if (c->last && uop_does(c->last->op, UE_END)) return refuse(c, "follows the end of the block");
    if (c->b->track ? uop_does(u->op, UE_CLEAN) : uop_does(u->op, UE_TRACK))
        return refuse(c, "in a %s translation", c->b->track ? "tracking" : "clean");
    if (uop_does(u->op, UE_ENTRY) && c->last) return refuse(c, "belongs before the first guest instruction");
    if (u->insn < c->newest && !late && !allocation)
        return refuse(c, "of guest instruction %d after one of %d", u->insn, c->newest);
    if (u->insn > c->newest) c->newest = u->insn;
    if (!uop_does(u->op, UE_GUEST)) return true;
    int before = c->last ? c->last->insn : -1;
    if (u->insn <= before && u->op != U_JMP) return refuse(c, "guest instruction %d a second time", u->insn);
    for (int i = before + 1; i < u->insn; i++) /* direct jumps that stage 1 followed have no uinstr */
        if (c->b->insn[i].flow != IP_F_JMP) return refuse(c, "guest instruction %d was left out", i);
    c->last = u;
    return true;
}

/* ---- Temporaries, checks, RSP -------------------------------------------------------------------------------- */

static bool check_sequence(struct check *c, const struct uinstr *u) {
    if (u->via_t && c->temp_insn != u->insn) return refuse(c, "the temporary has no value");
    if (uop_does(u->op, UE_TEMP)) c->temp_insn = u->insn;
    if (u->op == U_TMASK || u->op == U_TMEM) {
        if (c->guarded >= 0 && c->guarded != u->insn) return refuse(c, "the checks before have no TJOIN");
        c->guarded = u->insn;
    }
    if (u->op == U_TJOIN) {
        if (c->guarded >= 0 && c->guarded != u->insn) return refuse(c, "joins checks of another instruction");
        c->guarded = -1;
    }
    if (u->op == U_TJOIN || u->op == U_TRACK) c->temp_insn = -1; /* the helper keeps none */
    if (uop_does(u->op, UE_GUEST)) {
        if (c->guarded >= 0) return refuse(c, "its checks have no TJOIN");
        c->temp_insn = -1;
    }
    if (u->op == U_SPSAVE) c->sp_saved = u->insn;
    if (u->op == U_SPCHG) {
        if (c->sp_saved != u->insn && c->sp_saved != u->insn - 1) return refuse(c, "RSP was not remembered");
        if (!c->last || c->last->insn < u->insn) return refuse(c, "before its instruction");
    }
    return true;
}

static bool check_liveness(struct check *c, const struct uinstr *u) {
    if (c->stage < 2 || c->stage == 3 || u->op == U_SPILL || u->op == U_UNSPILL) return true;
    int at = c->stage >= 4 && u->insn <= c->done ? u->insn + 1 : u->insn;
    if (u->dead != c->b->dead_before[at])
        return refuse(c, "registers live there that it takes for dead, or the reverse");
    if (u->fl_live != c->b->fl_live_before[at]) return refuse(c, "flags %s there", u->fl_live ? "are dead" : "live");
    if (u->dead & REG_BIT(IP_RSP)) return refuse(c, "RSP is never dead");
    if (c->stage >= 4 && u->after_insn != (at != u->insn)) return refuse(c, "on the wrong side of its instruction");
    if (uop_does(u->op, UE_GUEST) && !uop_does(u->op, UE_END)) c->done = u->insn;
    return true;
}

/* ---- Registers ----------------------------------------------------------------------------------------------- */

static uint16_t address_regs(const struct uaddr *m) {
    return (uint16_t)((m->base < 16 ? REG_BIT(m->base) : 0) | (m->index < 16 ? REG_BIT(m->index) : 0));
}

static bool needs_t0(const struct uinstr *u) {
    return uop_does(u->op, UE_TEMP | UE_SCRATCH) || (uop_does(u->op, UE_CHECK) && u->fl_live) ||
           (u->op == U_INSN && (u->seg || u->via_t)) || ((u->op == U_JMPI || u->op == U_CALLI) && u->via_t);
}

static bool check_t0(struct check *c, const struct uinstr *u) {
    if (u->t0 == IP_REG_NONE) return !needs_t0(u) || refuse(c, "has no register");
    if (!needs_t0(u) && !(uop_does(u->op, UE_CHECK) && u->size > 8)) return refuse(c, "needs no register");
    if (u->t0 >= 16 || u->t0 == IP_RSP) return refuse(c, "register %u for a temporary", u->t0);
    if (!(u->spilled >> u->t0 & 1)) return refuse(c, "clobbers a register whose guest value is nowhere else");
    if (u->op == U_RECADDR && uaddr_is_sum(&u->m) && (u->reg == u->t0 || u->reg == IP_RSP || u->reg == c->temp_reg))
        return refuse(c, "register %u for an address", u->reg);
    if (u->op == U_RECADDR && uaddr_is_sum(&u->m) && !(u->spilled >> u->reg & 1))
        return refuse(c, "clobbers a register whose guest value is nowhere else");
    if (uop_does(u->op, UE_CHECK) && u->fl_live && u->t0 != IP_RCX) return refuse(c, "tests by jrcxz what is not RCX");
    if (c->temp_reg == u->t0 && !u->via_t && !uop_does(u->op, UE_TEMP))
        return refuse(c, "clobbers the address temporary");
    return true;
}

/* Guest registers whose values the uinstr takes from host registers. */
static uint16_t needed(const struct uinstr *u, const struct ip_insn *in) {
    uint16_t regs = u->via_t ? 0 : address_regs(&u->m);
    if (uop_does(u->op, UE_WHOLE)) return u->late ? 0 : 0xffff;
    if (u->op == U_JMPI || u->op == U_CALLI) return (uint16_t)~(u->via_t ? REG_BIT(IP_RAX) : 0u);
    if (u->op == U_INSN) regs |= (uint16_t)(in->gpr_read | (in->gpr_write & ~in->gpr_kill));
    return regs;
}

static bool check_registers(struct check *c, const struct uinstr *u) {
    const struct ip_insn *in = &c->b->insn[u->insn];
    uint16_t bit = (uint16_t)(u->reg < 16 ? REG_BIT(u->reg) : 0);
    if (u->op == U_SPILL || u->op == U_UNSPILL) {
        bool spill = u->op == U_SPILL;
        if (u->reg == IP_RSP) return refuse(c, "of RSP");
        if (spill == !!(c->spilled & bit)) return refuse(c, "of a register that is%s in its slot", spill ? "" : " not");
        c->spilled ^= bit;
        if (!spill) c->clobbered &= (uint16_t)~bit;
        if (!spill && c->temp_reg == u->reg) c->temp_reg = IP_REG_NONE;
        return u->spilled == c->spilled ||
               refuse(c, "mask %04x of spilled registers, %04x are", u->spilled, c->spilled);
    }
    if (u->op == U_RDSEG || u->op == U_GETNR) c->spilled &= (uint16_t)~in->gpr_kill;
    if (u->spilled != c->spilled) return refuse(c, "mask %04x of spilled registers, %04x are", u->spilled, c->spilled);
    if (!check_t0(c, u)) return false;
    uint16_t need = needed(u, in), temp = (uint16_t)(u->t0 < 16 ? REG_BIT(u->t0) : 0);
    /* The flagless check loads the operand's RCX again for each of its parts. */
    if (u->op == U_RECADDR && uaddr_is_sum(&u->m)) temp |= bit;
    if (need & c->clobbered || (uop_does(u->op, UE_WHOLE | UE_GUEST) && need & c->spilled & ~temp))
        return refuse(c, "needs registers of the guest that are in their slots (%04x)", need & c->spilled);
    if (u->op == U_INSN && temp & (in->gpr_read | in->gpr_write)) return refuse(c, "its temporary is its own operand");
    if (uop_does(u->op, UE_CHECK) && !u->fl_live && temp & need)
        return refuse(c, "its register is part of its address");
    if (u->via_t && c->temp_reg != (u->op == U_INSN ? u->t0 : u->m.base))
        return refuse(c, "the temporary is elsewhere");
    if (uop_does(u->op, UE_TEMP)) c->temp_reg = u->t0;
    c->clobbered |= temp;
    if (u->op == U_TJOIN || u->op == U_TRACK || uop_does(u->op, UE_GUEST)) c->temp_reg = IP_REG_NONE;
    if (u->op == U_INSN) c->spilled &= (uint16_t)~in->gpr_kill;
    c->clobbered &= c->spilled;
    return true;
}

bool ip_verify(const struct ublock *b, int stage, char *why, size_t cap) {
    struct check c = {.b = b,
                      .stage = stage,
                      .why = why,
                      .cap = cap,
                      .newest = -1,
                      .done = -1,
                      .temp_insn = -1,
                      .guarded = -1,
                      .sp_saved = -1,
                      .temp_reg = IP_REG_NONE};
    if (b->n_u <= 0 || b->n_u > UB_MAX_UOPS || b->n_insn <= 0 || b->n_insn > UB_MAX_INSN)
        return refuse(&c, "%d uinstrs of %d guest instructions", b->n_u, b->n_insn);
    for (c.k = 0; c.k < b->n_u; c.k++) {
        const struct uinstr *u = &b->u[c.k];
        if (u->op >= U_COUNT_OF) return refuse(&c, "unknown uop %u", u->op);
        if (!check_operands(&c, u) || !check_place(&c, u) || !check_sequence(&c, u) || !check_liveness(&c, u))
            return false;
        if (stage >= 5 && !check_registers(&c, u)) return false;
    }
    c.k--;
    return (c.last && uop_does(c.last->op, UE_END)) || refuse(&c, "the block has no end");
}

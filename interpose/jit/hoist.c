/* Stage 4, check motion: a load check between an instruction that sets flags
 * and the one that reads them needs the slow, flagless form.  It is made
 * earlier, at the nearest instruction before which flags are dead, with the
 * displacement that the operand has there (docs/measurements.md, point 4).  An early check (U_EARLY) reports nothing:
 * when it fails the block goes on in the tracking translation from there, which finds out.
 * Those of words side by side, as an epilogue's pops read, become one.
 */
#include <string.h>

#include "abi/space.h"
#include "jit/ucode.h"
#include "jit/x86_decode.h"

#define FARTHEST 48 /* uinstrs */
#define WIDEST   64 /* bytes that a check may cover */

bool ip_rsp_step(const struct ip_insn *in, int64_t *step) {
    int64_t word = in->opsize == 2 ? 2 : 8;
    *step = 0;
    if (!(in->gpr_write & (1u << IP_RSP))) return true;
    switch (in->mnem) {
    case IP_MN_PUSH:
    case IP_MN_PUSHF:
    case IP_MN_PUSHFQ: *step = -word; return true;
    case IP_MN_POPF:
    case IP_MN_POPFQ: *step = word; return true;
    case IP_MN_POP:
        *step = word;
        return !in->mem.present && in->n_ops && in->ops[0].kind == IP_OP_GPR && in->ops[0].reg != IP_RSP;
    case IP_MN_ADD:
    case IP_MN_SUB:
        *step = in->mnem == IP_MN_ADD ? in->imm : -in->imm;
        return in->imm_len && in->opsize == 8 && !in->mem.present;
    case IP_MN_LEA:
        *step = in->mem.disp;
        return in->opsize == 8 && in->mem.base == IP_RSP && in->mem.index == IP_REG_NONE && !in->mem.addr32;
    default: return false;
    }
}

/* Operands at known distances from the same registers that share no byte. */
static bool apart(const struct uaddr *a, unsigned na, const struct uaddr *b, unsigned nb) {
    return a->base == b->base && a->base != IP_REG_RIP && a->index == b->index && a->scale == b->scale && !a->addr32 &&
           !b->addr32 && (a->disp + (int64_t)na <= b->disp || b->disp + (int64_t)nb <= a->disp);
}

/* Can a check of [m, m + size) be made before uinstr v?  Moves m's displacement. */
static bool passes(const struct ublock *b, const struct uinstr *v, struct uaddr *m, unsigned size) {
    const struct ip_insn *in = &b->insn[v->insn];
    int64_t step;
    switch (v->op) {
    case U_INSN:
        if (m->index < 16 && (in->gpr_write >> m->index & 1)) return false;
        if (m->base >= 16 || !(in->gpr_write >> m->base & 1)) return true;
        if (m->base != IP_RSP || !ip_rsp_step(in, &step)) return false;
        m->disp += step;
        return m->disp == (int32_t)m->disp;
    case U_STCHK:
    case U_STKDEF:
    case U_STKUND: return !v->via_t && apart(m, size, &v->m, v->size);
    case U_LDCHK:
    case U_EARLY:
    case U_SPSAVE: return true;
    default: return false; /* SEGEA and FAREA: their temporary is not to meet the check's */
    }
}

/* Where the check at u[k] can be made: index of a uinstr with which a guest
 * instruction begins, -1 for nowhere.  m: the operand there. */
static int better_place(const struct ublock *b, int k, struct uaddr *m) {
    const struct uinstr *u = &b->u[k];
    *m = u->m;
    for (int j = k - 1; j >= 0 && k - j <= FARTHEST; j--) {
        const struct uinstr *v = &b->u[j];
        if (!passes(b, v, m, u->size)) return -1;
        const struct uinstr *before = j ? &b->u[j - 1] : NULL;
        bool first = !before || before->insn < v->insn || uop_does(before->op, UE_ENTRY);
        if (before && before->insn > v->insn) return -1; /* a mark that was put off */
        if (first && !b->fl_live_before[v->insn]) return j;
    }
    return -1;
}

/* Two early checks at one place: is the second one's operand right below the first's or right above it? */
static bool adjoins(const struct uinstr *a, const struct uinstr *b) {
    return b->op == U_EARLY && b->insn == a->insn && a->size % 8 == 0 && b->size % 8 == 0 &&
           a->size + b->size <= WIDEST && a->m.base == b->m.base && a->m.base != IP_REG_RIP &&
           a->m.index == b->m.index && a->m.scale == b->m.scale && a->m.seg == b->m.seg &&
           (a->m.disp + a->size == b->m.disp || b->m.disp + b->size == a->m.disp);
}

static void join_early_checks(struct ublock *b) {
    int n = 0;
    for (int k = 0; k < b->n_u; k++) {
        struct uinstr *last = n ? &b->u[n - 1] : NULL;
        const struct uinstr *u = &b->u[k];
        if (last && last->op == U_EARLY && adjoins(last, u)) {
            if (u->m.disp < last->m.disp) last->m.disp = u->m.disp;
            last->size = (uint16_t)(last->size + u->size);
        } else {
            if (n != k) b->u[n] = *u;
            n++;
        }
    }
    b->n_u = n;
}

void ip_hoist_checks(struct ublock *b) {
    for (int k = 1; k < b->n_u; k++) {
        struct uinstr *u = &b->u[k];
        struct uaddr m;
        if (u->op != U_LDCHK || u->via_t || u->m.addr32 || !b->fl_live_before[u->insn]) continue;
        int to = better_place(b, k, &m);
        if (to < 0) continue;
        struct uinstr early = *u;
        early.op = U_EARLY;
        early.insn = b->u[to].insn;
        early.m = m;
        early.imm = b->insn[early.insn].pc | IP_KEY_TRACK | IP_KEY_NOREDIR;
        memmove(&b->u[to + 1], &b->u[to], sizeof b->u[0] * (size_t)(k - to));
        b->u[to] = early;
    }
    join_early_checks(b);
}

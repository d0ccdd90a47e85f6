/* Stage 4: removes checks that cannot fail because an earlier one in the same
 * straight line already passed, and recomputes liveness for what stage 3 added.
 */
#include <string.h>

#include "abi/channel.h"
#include "jit/ucode.h"

static bool same_addr(const struct uaddr *a, const struct uaddr *b) {
    return a->base == b->base && a->index == b->index && a->scale == b->scale && a->disp == b->disp &&
           a->addr32 == b->addr32 && a->rip_target == b->rip_target;
}

static bool writes_reg(const struct ip_insn *in, uint8_t reg) { return reg < 16 && (in->gpr_write >> reg & 1); }

/* A repeated load check of the same operand, with nothing in between that
 * could make those bytes undefined or change the address. */
static void drop_repeated_checks(struct ublock *b) {
    struct uinstr *last = NULL;
    int n = 0;
    for (int k = 0; k < b->n_u; k++) {
        struct uinstr *u = &b->u[k];
        bool keep = true;
        switch (u->op) {
        case U_LDCHK:
            if (last && !u->via_t && same_addr(&last->m, &u->m) && u->size <= last->size) keep = false;
            break;
        case U_INSN: {
            const struct ip_insn *in = &b->insn[u->insn];
            if (last && (writes_reg(in, last->m.base) || writes_reg(in, last->m.index))) last = NULL;
            break;
        }
        case U_STKUND:
        case U_SPCHG:
        case U_TRACK: last = NULL; break;
        default: break;
        }
        if (!keep) continue;
        if (n != k) b->u[n] = *u;
        if (b->u[n].op == U_LDCHK && !b->u[n].via_t)
            last = &b->u[n];
        else if (last && last >= &b->u[n])
            last = NULL;
        n++;
    }
    b->n_u = n;
}

void ip_stage4_cleanup(struct ublock *b, const struct ip_jit_opts *o) {
    int done = -1; /* newest guest instruction whose own uop has passed */
    if (!(o->flags & (IP_C_NO_CLEANUP | IP_C_NO_INSTR))) {
        drop_repeated_checks(b);
        if (!b->track) ip_hoist_checks(b);
    }
    for (int k = 0; k < b->n_u; k++) {
        struct uinstr *u = &b->u[k];
        bool guest = u->op == U_INSN || u->op == U_RDSEG || u->op == U_WRSEG || u->op == U_GETNR;
        int at = u->insn <= done ? u->insn + 1 : u->insn;
        u->dead = b->dead_before[at];
        u->fl_live = b->fl_live_before[at];
        u->after_insn = (uint8_t)(at != u->insn); /* after its instruction */
        if (guest || u->op == U_JCC || u->op == U_LOOPX || u->op == U_REQUEST) done = u->insn;
    }
}

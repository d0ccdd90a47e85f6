/* A debugger's watchpoints: each instruction that accesses memory asks the runtime before (runtime/debug/watch.c). */
#include "jit/transtab.h"
#include "jit/ucode.h"

static bool accesses(const struct ip_insn *in) {
    if (in->mem.present && !(in->mem.access & IP_ACC_ADDR)) return true;
    for (int k = 0; k < in->n_ops; k++)
        if (in->ops[k].kind == IP_OP_MEM_IMPL) return true;
    return in->flow == IP_F_CALL || in->flow == IP_F_CALLI || in->flow == IP_F_RET;
}

void tt_watch_accesses(struct ublock *b) {
    static struct uinstr made[UB_MAX_UOPS];
    int n = 0, last = -1;
    for (int i = 0; i < b->n_u; i++) {
        const struct uinstr *u = &b->u[i];
        bool exits = (u->op == U_EXIT && u->kind != IP_X_FAR) || u->op == U_REQUEST;
        if (u->insn > last && !uop_does(u->op, UE_ENTRY)) {
            last = u->insn;
            if (!exits && accesses(&b->insn[last])) {
                if (n == UB_MAX_UOPS) goto overflow;
                struct uinstr *ask = &made[n++];
                *ask = (struct uinstr){.op = U_WATCH, .insn = (int16_t)last, .t0 = IP_REG_NONE, .fl_live = u->fl_live};
                ask->m.base = ask->m.index = IP_REG_NONE;
                ask->m.scale = 1;
            }
        }
        if (n == UB_MAX_UOPS) goto overflow;
        made[n++] = *u;
    }
    memcpy(b->u, made, sizeof *made * (size_t)n);
    b->n_u = n;
    return;
overflow:
    b->overflow = true;
}

/* The table of uops, and how uinstrs are made. */
#include "jit/ucode.h"

const struct uop_info ip_uops[U_COUNT_OF] = {
#define X(name, text, stage, effects, operands) {text, stage, effects, operands},
    UCODE_OPS(X)
#undef X
};

struct uinstr *ub_add(struct ublock *b, int op, int insn) {
    if (b->n_u >= UB_MAX_UOPS) {
        b->overflow = true;
        b->n_u = UB_MAX_UOPS - 1;
    }
    struct uinstr *u = &b->u[b->n_u++];
    memset(u, 0, sizeof *u);
    u->op = (uint8_t)op;
    u->insn = (int16_t)insn;
    u->t0 = IP_REG_NONE;
    u->m.base = u->m.index = IP_REG_NONE;
    u->m.scale = 1;
    return u;
}

void uaddr_from_mem(struct uaddr *a, const struct ip_mem *m) {
    a->base = m->base;
    a->index = m->index;
    a->scale = m->scale ? m->scale : 1;
    a->addr32 = m->addr32;
    a->disp = m->disp;
    a->rip_target = m->rip_target;
}

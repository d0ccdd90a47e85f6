/* Stage 4: removes checks that cannot fail because an earlier one in the same
 * straight line already passed, and marks of what is marked so; then recomputes
 * liveness for what stage 3 added.
 */
#include <string.h>

#include "abi/channel.h"
#include "jit/ucode.h"

/* Memory whose V bytes are zero at some place of a clean block: a check of it has passed (one that fails leaves the
 * block, or marks the bytes), or it was marked.  What RSP gives back and what the runtime does take that away. */
#define MAX_KNOWN 24
struct known {
    struct uaddr m[MAX_KNOWN];
    int64_t size[MAX_KNOWN];
    int n, oldest;
};

static bool same_registers(const struct uaddr *a, const struct uaddr *b) {
    return a->base == b->base && a->index == b->index && (a->index == IP_REG_NONE || a->scale == b->scale);
}

static int64_t where(const struct uaddr *m) { return m->base == IP_REG_RIP ? (int64_t)m->rip_target : m->disp; }

static void forget(struct known *k, int i) {
    k->n--;
    k->m[i] = k->m[k->n];
    k->size[i] = k->size[k->n];
}

static bool is_known(const struct known *k, const struct uinstr *u) {
    if (u->via_t || u->m.addr32) return false;
    for (int i = 0; i < k->n; i++)
        if (same_registers(&k->m[i], &u->m) && where(&k->m[i]) <= where(&u->m) &&
            where(&u->m) + u->size <= where(&k->m[i]) + k->size[i])
            return true;
    return false;
}

static void learn(struct known *k, const struct uinstr *u) {
    struct uaddr m = u->m;
    int64_t size = u->size;
    if (u->via_t || m.addr32) return;
    for (int i = 0; i < k->n;) { /* together with what touches it */
        int64_t lo = where(&k->m[i]), hi = lo + k->size[i], at = where(&m);
        if (!same_registers(&k->m[i], &m) || hi < at || at + size < lo) {
            i++;
            continue;
        }
        if (at + size > hi) hi = at + size;
        if (lo < at) m = addr_moved(m, lo - at);
        size = hi - where(&m);
        forget(k, i);
    }
    int i = k->n < MAX_KNOWN ? k->n++ : k->oldest++ % MAX_KNOWN;
    k->m[i] = m;
    k->size[i] = size;
}

/* A register that addresses are made of changes. */
static void written(struct known *k, const struct ip_insn *in) {
    int64_t step = 0;
    bool steps = ip_rsp_step(in, &step);
    for (int i = k->n - 1; i >= 0; i--) {
        struct uaddr *m = &k->m[i];
        bool base = m->base < 16 && (in->gpr_write >> m->base & 1),
             index = m->index < 16 && (in->gpr_write >> m->index & 1);
        if (base && m->base == IP_RSP && steps && !index)
            m->disp -= step;
        else if (base || index)
            forget(k, i);
    }
}

/* The stack gives bytes back; who else points there nobody knows. */
static void given_back(struct known *k, const struct uinstr *u) {
    for (int i = k->n - 1; i >= 0; i--) {
        const struct uaddr *m = &k->m[i];
        bool apart = same_registers(m, &u->m) && (m->disp + k->size[i] <= u->m.disp || u->m.disp + u->size <= m->disp);
        if (!apart) forget(k, i);
    }
}

static void drop_known(struct ublock *b) {
    struct known k = {.n = 0};
    int n = 0;
    for (int j = 0; j < b->n_u; j++) {
        const struct uinstr *u = &b->u[j];
        switch (u->op) {
        case U_LDCHK:
        case U_STCHK:
        case U_STKDEF:
            if (is_known(&k, u)) continue;
            learn(&k, u);
            break;
        case U_INSN:
        case U_RDSEG:
        case U_GETNR:
        case U_LOOPX: written(&k, &b->insn[u->insn]); break;
        case U_STKUND: given_back(&k, u); break;
        case U_SEGEA:
        case U_FAREA:
        case U_UMASK:
        case U_SPSAVE:
        case U_CSPUSH:
        case U_TALLY:
        case U_JCC: break;
        default: k.n = 0; break;
        }
        if (n != j) b->u[n] = *u;
        n++;
    }
    b->n_u = n;
}

void ip_stage4_cleanup(struct ublock *b, const struct ip_jit_opts *o) {
    int done = -1; /* newest guest instruction whose own uop has passed */
    if (!(o->flags & (IP_C_NO_CLEANUP | IP_C_NO_INSTR))) {
        /* Where only addresses are checked, a load of what is undefined goes on in the clean translation. */
        if (!b->track && o->flags & IP_C_UNDEF) drop_known(b);
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

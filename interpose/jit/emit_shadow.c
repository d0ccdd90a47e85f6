/* Stage 6, tests and stores on the shadow. */
#include "abi/space.h"
#include "jit/emit.h"

_Static_assert(IP_V_DISP <= INT8_MAX, "most shadow operands have one byte of displacement");

/* The V bytes of an operand: GS is as far from its shadow as the displacement leaves. */
static struct uaddr v_bytes(struct uaddr a) { return addr_in_seg(addr_moved(a, IP_V_DISP), IP_SEG_GS); }

/* The greatest power of 2 that is an access and no more than this. */
static unsigned piece(unsigned left) { return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1; }

void em_sh_fill(struct em *m, struct uaddr a, unsigned size, unsigned byte) {
    for (unsigned off = 0, n; off < size; off += n) {
        n = piece(size - off);
        put_store_imm(&m->w, (int)n, v_bytes(addr_moved(a, off)), byte * 0x01010101u);
    }
}

static struct stub *site_stub(struct em *m, const struct uinstr *u, struct slow_site site) {
    struct stub *s = em_add_stub(m, site.kind);
    s->exit_kind = (uint8_t)site.exit_kind;
    s->spilled = u->spilled;
    s->size = u->size;
    s->insn = u->insn;
    s->m = u->m;
    s->via_t = u->via_t;
    s->fl_live = u->fl_live;
    s->pc = site.kind == ST_OVERWRITE ? u->set : u->imm;
    if (u->op == U_LDCHK) s->pc = m->b->insn[u->insn].pc | IP_KEY_TRACK | IP_KEY_NOREDIR;
    return s;
}

/* Stubs from the first on come back to what follows the check. */
static void resume_here(struct em *m, int first) {
    for (int i = first; i < m->n_stubs; i++) m->stubs[i].resume = m->stubs[i].past = m->w.len;
}

/* jrcxz is the only test that leaves flags alone. */
static void check_zero_flagless(struct em *m, const struct uinstr *u, struct slow_site site) {
    struct writer *w = &m->w;
    bool uses_rcx = u->m.base == IP_RCX || u->m.index == IP_RCX;
    for (unsigned off = 0, n; off < u->size; off += n) {
        n = piece(u->size - off);
        struct uaddr v = v_bytes(addr_moved(u->m, off));
        if (off && uses_rcx) restore_reg(w, IP_RCX);
        if (n >= 4)
            put_load(w, (int)n, IP_RCX, v);
        else
            put_load_zx(w, (int)n, IP_RCX, v);
        put_jrcxz(w, JMP_BYTES);
        em_to_stub(m, site_stub(m, u, site), CC_ALWAYS);
    }
}

/* V bytes of [m, m + size) all zero, else to a stub. */
void em_check_zero(struct em *m, const struct uinstr *u, struct slow_site site) {
    struct writer *w = &m->w;
    int first = m->n_stubs;
    em_point(m, u->insn, u->spilled, IP_PF_SHADOW | (u->op == U_EARLY ? IP_PF_EARLY : 0u));
    if (u->fl_live) {
        check_zero_flagless(m, u, site);
    } else if (u->t0 != IP_REG_NONE) {
        for (unsigned off = 0; off < u->size; off += 8) {
            struct uaddr v = v_bytes(addr_moved(u->m, off));
            if (off)
                put_or(w, 8, u->t0, v);
            else
                put_load(w, 8, u->t0, v);
        }
        em_to_stub(m, site_stub(m, u, site), IP_CC_NZ);
    } else {
        for (unsigned off = 0, n; off < u->size; off += n) {
            n = piece(u->size - off);
            put_cmp_imm8(w, (int)n, v_bytes(addr_moved(u->m, off)), 0);
            em_to_stub(m, site_stub(m, u, site), IP_CC_NZ);
        }
    }
    resume_here(m, first);
    em_point(m, u->insn, u->spilled, 0);
}

/* Any bit of set in tstate.umask: to a stub. */
void em_check_mask(struct em *m, const struct uinstr *u, struct slow_site site) {
    struct writer *w = &m->w;
    int first = m->n_stubs;
    if (u->fl_live) {
        put_load(w, 8, IP_RCX, STATE(umask));
        if (m->bmi2 && m->n_literals < MAX_LITERALS) {
            /* pext keeps flags; its mask operand is a literal behind the block.
             * Without it, registers of no concern here would count too. */
            m->literals[m->n_literals].at = put_pext_open(w, IP_RCX, IP_RCX);
            m->literals[m->n_literals++].value = u->set;
        }
        put_jrcxz(w, JMP_BYTES);
        em_to_stub(m, site_stub(m, u, site), CC_ALWAYS);
    } else {
        for (int half = 0; half < 2; half++) {
            uint32_t set = (uint32_t)(u->set >> (32 * half));
            if (!set) continue;
            put_test_imm32(w, addr_moved(STATE(umask), 4 * half), set);
            em_to_stub(m, site_stub(m, u, site), IP_CC_NZ);
        }
    }
    resume_here(m, first);
}

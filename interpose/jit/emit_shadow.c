/* Stage 6, memcheck's tests and stores on the shadow. */
#include "jit/emit.h"

static void sh_store_imm(struct writer *w, const struct uaddr *a, int64_t off, unsigned n, unsigned byte) {
    struct uaddr m = *a;
    if (m.base == IP_REG_RIP)
        m.rip_target += (uint64_t)off;
    else
        m.disp += off;
    uint32_t imm = byte * 0x01010101u;
    switch (n) {
    case 8:
        w_op_mem(w, GS, 8, 0xc7, 0, 0, &m, IP_V_DISP, 4);
        w4(w, imm);
        break;
    case 4:
        w_op_mem(w, GS, 4, 0xc7, 0, 0, &m, IP_V_DISP, 4);
        w4(w, imm);
        break;
    case 2:
        w_op_mem(w, GS, 2, 0xc7, 0, 0, &m, IP_V_DISP, 2);
        w1(w, byte);
        w1(w, byte);
        break;
    default:
        w_op_mem(w, GS, 1, 0xc6, 0, 0, &m, IP_V_DISP, 1);
        w1(w, byte);
        break;
    }
}

void em_sh_fill(struct writer *w, const struct uaddr *a, unsigned size, unsigned byte) {
    unsigned off = 0;
    while (size - off >= 8) sh_store_imm(w, a, off, 8, byte), off += 8;
    if (size - off >= 4) sh_store_imm(w, a, off, 4, byte), off += 4;
    if (size - off >= 2) sh_store_imm(w, a, off, 2, byte), off += 2;
    if (size - off >= 1) sh_store_imm(w, a, off, 1, byte);
}

static struct uaddr shifted(const struct uaddr *a, int64_t off) {
    struct uaddr m = *a;
    if (m.base == IP_REG_RIP)
        m.rip_target += (uint64_t)off;
    else
        m.disp += off;
    return m;
}

static unsigned piece(unsigned left) { return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1; }

static struct stub *site_stub(struct em *m, const struct uinstr *u, const struct slow_site *site) {
    struct stub *s = em_add_stub(m, site->kind);
    s->exit_kind = (uint8_t)site->exit_kind;
    s->spilled = u->spilled;
    s->size = u->size;
    s->insn = u->insn;
    s->m = u->m;
    s->via_t = u->via_t;
    s->t0 = u->t0;
    return s;
}

/* V bytes of [m, m + size) all zero, else to a stub. */
void em_check_zero(struct em *m, const struct uinstr *u, const struct slow_site *site) {
    struct writer *w = &m->w;
    int first = m->n_stubs;
    em_point(m, u->insn, u->spilled, IP_PF_SHADOW | (u->op == U_EARLY ? IP_PF_EARLY : 0u));
    if (u->fl_live) {
        unsigned off = 0;
        while (off < u->size) {
            unsigned n = piece(u->size - off);
            struct uaddr a = shifted(&u->m, off);
            if (off && (u->m.base == IP_RCX || u->m.index == IP_RCX)) w_fs(w, FS_LOAD, IP_RCX, SLOT(IP_RCX));
            if (n >= 4)
                w_op_mem(w, GS, (int)n, 0x8b, 0, IP_RCX, &a, IP_V_DISP, 0);
            else
                w_op_mem(w, GS, 4, 0x0f, n == 2 ? 0xb7 : 0xb6, IP_RCX, &a, IP_V_DISP, 0);
            wn(w, "\xe3\x05", 2); /* jrcxz over the jmp */
            em_to_stub(m, site_stub(m, u, site), -1);
            off += n;
        }
    } else if (u->t0 != IP_REG_NONE) {
        for (unsigned off = 0; off < u->size; off += 8) {
            struct uaddr a = shifted(&u->m, off);
            w_op_mem(w, GS, 8, off ? 0x0b : 0x8b, 0, u->t0, &a, IP_V_DISP, 0);
        }
        em_to_stub(m, site_stub(m, u, site), CC_NZ);
    } else {
        unsigned off = 0;
        while (off < u->size) {
            unsigned n = piece(u->size - off);
            struct uaddr a = shifted(&u->m, off);
            w_op_mem(w, GS, (int)n, n == 1 ? 0x80 : 0x83, 0, 7, &a, IP_V_DISP, 1);
            w1(w, 0);
            em_to_stub(m, site_stub(m, u, site), CC_NZ);
            off += n;
        }
    }
    for (int i = first; i < m->n_stubs; i++) {
        m->stubs[i].resume = w->e->len;
        m->stubs[i].pc = u->imm;
    }
    em_point(m, u->insn, u->spilled, 0);
}

/* Any bit of set in tstate.umask: to a stub. */
void em_check_mask(struct em *m, const struct uinstr *u, const struct slow_site *site) {
    struct writer *w = &m->w;
    int first = m->n_stubs;
    if (u->fl_live) {
        w_fs(w, FS_LOAD, IP_RCX, OFF(umask));
        if (m->bmi2 && m->n_literals < MAX_LITERALS) {
            /* pext keeps flags; its mask operand is a literal behind the block.
             * Without it, registers of no concern here would count too. */
            wn(w, "\xc4\xe2\xf2\xf5\x0d", 5); /* pext rcx, rcx, [rip+literal] */
            m->literals[m->n_literals].at = w->e->len;
            m->literals[m->n_literals++].value = u->set;
            w4(w, 0);
        }
        wn(w, "\xe3\x05", 2);
        em_to_stub(m, site_stub(m, u, site), -1);
    } else {
        for (int half = 0; half < 2; half++) {
            uint32_t set = (uint32_t)(u->set >> (32 * half));
            if (!set) continue;
            wn(w, "\x64\xf7\x04\x25", 4); /* test dword fs:[], imm32 */
            w4(w, OFF(umask) + 4u * (unsigned)half);
            w4(w, set);
            em_to_stub(m, site_stub(m, u, site), CC_NZ);
        }
    }
    for (int i = first; i < m->n_stubs; i++) {
        m->stubs[i].resume = w->e->len;
        m->stubs[i].pc = u->imm;
    }
}

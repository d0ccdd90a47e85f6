/* Stage 6: machine code, exit stubs, and the table that maps host addresses to
 * guest ones.  The main line comes first, stubs after it.
 */
#include <stddef.h>

#include "asm.h"

/* Exit kinds from 64 on are slow-path sites: the runtime does something and
 * resumes at ip_exit.patch. */
#define OFF(f) ((uint32_t)offsetof(struct tstate, f))
#define SLOT(r) ((uint32_t)(8 * (r)))
#define SYM(w, s) ((uint32_t)(w)->o->sym[s])
#define MAX_STUBS 1024
#define MAX_LITERALS 128

enum stub_kind { ST_EXIT, ST_SLOW, ST_TRACK, ST_MISS, ST_CSYNC, ST_REDZONE, ST_SLOWCALL };

struct stub {
    uint8_t kind, exit_kind, via_t, t0;
    uint16_t spilled;
    uint16_t size;
    int16_t insn;
    int exit;              /* index into e->exits                              */
    uint32_t from;         /* offset of the rel32 that comes here              */
    uint32_t resume;       /* offset to resume at                              */
    struct uaddr m;
    uint64_t pc;
};

struct em {
    struct writer w;
    struct stub stubs[MAX_STUBS];
    int n_stubs;
    int cur_insn;          /* guest instruction whose point was last recorded  */
    int join_first;        /* stubs waiting for their TJOIN                    */
    bool shadow, callstack, bmi2;
    int n_literals;
    struct { uint32_t at; uint64_t value; } literals[MAX_LITERALS];
};

static void point(struct em *m, int insn, uint16_t spilled, unsigned flags) {
    struct emitted *e = m->w.e;
    if (e->n_points >= EM_MAX_POINTS) {
        e->overflow = true;
        return;
    }
    struct ip_point *p = &e->points[e->n_points];
    if (e->n_points && p[-1].host_off == e->len) p = &e->points[e->n_points - 1];
    else e->n_points++;
    p->host_off = (uint16_t)e->len;
    p->guest_off = (uint16_t)insn;
    p->spilled = spilled;
    p->flags = (uint16_t)flags;
}

static int add_exit(struct em *m, uint64_t key, int kind, uint32_t aux) {
    struct emitted *e = m->w.e;
    if (e->n_exits >= EM_MAX_EXITS) {
        e->overflow = true;
        return 0;
    }
    struct emit_exit *x = &e->exits[e->n_exits];
    memset(x, 0, sizeof *x);
    x->key = key;
    x->kind_aux = (uint32_t)kind | aux << 8;
    return e->n_exits++;
}

static struct stub *add_stub(struct em *m, int kind) {
    if (m->n_stubs >= MAX_STUBS) {
        m->w.e->overflow = true;
        m->n_stubs--;
    }
    struct stub *s = &m->stubs[m->n_stubs++];
    memset(s, 0, sizeof *s);
    s->kind = (uint8_t)kind;
    s->t0 = IP_REG_NONE;
    s->exit = -1;
    return s;
}

/* A rel32 that is patched while the client runs must be written in one piece:
 * keep it inside an aligned quadword.  lead: opcode bytes before it. */
static void align_patch(struct writer *w, int lead) {
    while (((w_here(w) + (uint32_t)lead) & 7) > 4) w1(w, 0x90);
}

/* jmp or jcc (cc >= 0) to a direct exit with its stub. */
static void direct_exit(struct em *m, uint64_t key, int cc, int insn) {
    struct writer *w = &m->w;
    int x = add_exit(m, key, IP_X_DIRECT, 0);
    align_patch(w, cc >= 0 ? 2 : 1);
    if (cc >= 0) {
        w1(w, 0x0f);
        w1(w, 0x80u | (unsigned)cc);
    } else {
        w1(w, 0xe9);
    }
    w->e->exits[x].patch_off = w->e->len;
    struct stub *s = add_stub(m, ST_EXIT);
    s->exit = x;
    s->from = w->e->len;
    s->insn = (int16_t)insn;
    w4(w, 0);
}

/* Jump (cc < 0: jmp) to the newest stub. */
static void to_stub(struct em *m, struct stub *s, int cc) {
    struct writer *w = &m->w;
    if (cc >= 0) {
        w1(w, 0x0f);
        w1(w, 0x80u | (unsigned)cc);
    } else {
        w1(w, 0xe9);
    }
    s->from = w->e->len;
    w4(w, 0);
}

#define CC_NZ 5

/* ---- Shadow accesses ---------------------------------------------------------- */

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

static void sh_fill(struct writer *w, const struct uaddr *a, unsigned size, unsigned byte) {
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

struct slow_site {
    int kind;          /* ST_SLOW or ST_TRACK                                  */
    int exit_kind;
};

static struct stub *site_stub(struct em *m, const struct uinstr *u, const struct slow_site *site) {
    struct stub *s = add_stub(m, site->kind);
    s->exit_kind = (uint8_t)site->exit_kind;
    s->spilled = u->pad;
    s->size = u->size;
    s->insn = u->insn;
    s->m = u->m;
    s->via_t = u->via_t;
    s->t0 = u->t0;
    return s;
}

/* V bytes of [m, m + size) all zero, else to a stub. */
static void check_zero(struct em *m, const struct uinstr *u, const struct slow_site *site) {
    struct writer *w = &m->w;
    int first = m->n_stubs;
    point(m, u->insn, u->pad, IP_PF_SHADOW);
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
            to_stub(m, site_stub(m, u, site), -1);
            off += n;
        }
    } else if (u->t0 != IP_REG_NONE) {
        for (unsigned off = 0; off < u->size; off += 8) {
            struct uaddr a = shifted(&u->m, off);
            w_op_mem(w, GS, 8, off ? 0x0b : 0x8b, 0, u->t0, &a, IP_V_DISP, 0);
        }
        to_stub(m, site_stub(m, u, site), CC_NZ);
    } else {
        unsigned off = 0;
        while (off < u->size) {
            unsigned n = piece(u->size - off);
            struct uaddr a = shifted(&u->m, off);
            w_op_mem(w, GS, (int)n, n == 1 ? 0x80 : 0x83, 0, 7, &a, IP_V_DISP, 1);
            w1(w, 0);
            to_stub(m, site_stub(m, u, site), CC_NZ);
            off += n;
        }
    }
    for (int i = first; i < m->n_stubs; i++) m->stubs[i].resume = w->e->len;
    point(m, u->insn, u->pad, 0);
}

/* Any bit of set in tstate.umask: to a stub. */
static void check_mask(struct em *m, const struct uinstr *u, const struct slow_site *site) {
    struct writer *w = &m->w;
    int first = m->n_stubs;
    if (u->fl_live) {
        w_fs(w, FS_LOAD, IP_RCX, OFF(umask));
        if (m->bmi2 && m->n_literals < MAX_LITERALS) {
            /* pext keeps flags; its mask operand is a literal behind the block.
             * Without it, registers of no concern here would count too. */
            wn(w, "\xc4\xe2\xf2\xf5\x0d", 5);    /* pext rcx, rcx, [rip+literal] */
            m->literals[m->n_literals].at = w->e->len;
            m->literals[m->n_literals++].value = u->set;
            w4(w, 0);
        }
        wn(w, "\xe3\x05", 2);
        to_stub(m, site_stub(m, u, site), -1);
    } else {
        for (int half = 0; half < 2; half++) {
            uint32_t set = (uint32_t)(u->set >> (32 * half));
            if (!set) continue;
            wn(w, "\x64\xf7\x04\x25", 4); /* test dword fs:[], imm32 */
            w4(w, OFF(umask) + 4u * (unsigned)half);
            w4(w, set);
            to_stub(m, site_stub(m, u, site), CC_NZ);
        }
    }
    for (int i = first; i < m->n_stubs; i++) {
        m->stubs[i].resume = w->e->len;
        m->stubs[i].pc = u->imm;
    }
}

/* ---- Control flow --------------------------------------------------------------- */

/* Guest pc in RCX; RCX and RDX saved in their slots.  The entry of the table
 * is the place before a block where its own pc is compared (check_entry), or
 * rt_miss_stub. */
static void indirect(struct em *m, int insn) {
    struct writer *w = &m->w;
    point(m, insn, 6, IP_PF_COMMITTED);
    wn(w, "\x0f\xb7\xd1", 3);                     /* movzx edx, cx             */
    wn(w, "\xff\x24\xd5", 3);                     /* jmp [rdx*8 + FAST]        */
    w4(w, IP_FAST_BASE);
}

/* Where indirect jumps arrive: on if RCX is this block's pc (no flags touched;
 * guest code above 2 GiB is never entered here).  IP_ENTRY_CHECK bytes. */
static void check_entry(struct em *m) {
    struct writer *w = &m->w;
    point(m, 0, 6, IP_PF_COMMITTED);
    wn(w, "\x48\x8d\x89", 3);                     /* lea rcx, [rcx - pc]       */
    w4(w, -(uint32_t)w->b->key);
    wn(w, "\xe3\x05", 2);                         /* jrcxz over the jmp        */
    to_stub(m, add_stub(m, ST_MISS), -1);
    w_fs(w, FS_LOAD, IP_RCX, SLOT(IP_RCX));
    w_fs(w, FS_LOAD, IP_RDX, SLOT(IP_RDX));
}

static void id_and_jump(struct em *m, int x, int sym) {
    struct writer *w = &m->w;
    w_fs_imm32(w, OFF(exit_id), 0);
    w->e->exits[x].id_off = w->e->len - 4;
    w_jmp(w, SYM(w, sym));
}

/* The way out comes first, so that all comparisons know where it is. */
static uint32_t stale_exit(struct em *m) {
    uint32_t at = m->w.e->len;
    point(m, 0, 6, IP_PF_COMMITTED);
    w_fs(&m->w, FS_LOAD, IP_RCX, SLOT(IP_RCX));
    w_fs(&m->w, FS_LOAD, IP_RDX, SLOT(IP_RDX));
    id_and_jump(m, add_exit(m, m->w.b->key, IP_X_STALE, 0), IP_SYM_EXIT);
    return at;
}

static void recheck(struct em *m, uint32_t stale) {
    w_fs(&m->w, FS_STORE, IP_RCX, SLOT(IP_RCX));
    w_fs(&m->w, FS_STORE, IP_RDX, SLOT(IP_RDX));
    point(m, 0, 6, 0);
    ip_emit_recheck(&m->w, stale);
    w_fs(&m->w, FS_LOAD, IP_RCX, SLOT(IP_RCX));
    w_fs(&m->w, FS_LOAD, IP_RDX, SLOT(IP_RDX));
}

static void push_return(struct em *m, uint64_t pc) {
    struct writer *w = &m->w;
    if (pc < 0x80000000ull) {
        w1(w, 0x68);
        w4(w, (uint32_t)pc);
    } else {
        /* RSP last: a fault of the stores must find it as it was. */
        wn(w, "\xc7\x44\x24\xf8", 4);             /* mov dword [rsp-8], low    */
        w4(w, (uint32_t)pc);
        wn(w, "\xc7\x44\x24\xfc", 4);
        w4(w, (uint32_t)(pc >> 32));
        wn(w, "\x48\x8d\x64\x24\xf8", 5);         /* lea rsp, [rsp-8]          */
    }
}

static void emit_ret(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    struct uaddr top = {IP_RSP, IP_REG_NONE, 1, 0, 0, 0};
    unsigned bytes = 8 + (unsigned)u->imm;
    w_fs(w, FS_STORE, IP_RCX, SLOT(IP_RCX));
    w_fs(w, FS_STORE, IP_RDX, SLOT(IP_RDX));
    if (!m->shadow && !m->callstack) {
        point(m, u->insn, 6, IP_PF_GUEST);
        w1(w, 0x59);                              /* pop rcx                   */
        bytes -= 8;
    } else {
        w_fs(w, FS_STORE, IP_RAX, SLOT(IP_RAX));
        point(m, u->insn, 7, IP_PF_GUEST);
        w_load(w, IP_RAX, &top);
        point(m, u->insn, 7, IP_PF_COMMITTED);
        if (m->shadow) {
            sh_fill(w, &top, bytes <= 256 ? bytes : 8, 0xff);
            w_fs(w, FS_LOAD, IP_RCX, OFF(redzone_not_lo));
            wn(w, "\xe3\x05", 2);                 /* jrcxz: clean              */
            struct stub *s = add_stub(m, ST_REDZONE);
            s->insn = u->insn;
            to_stub(m, s, -1);
            s->resume = w->e->len;
        }
        if (m->callstack) {
            w_fs(w, FS_LOAD, IP_RDX, OFF(cs_top));
            wn(w, "\x48\x8b\x4a\x08", 4);         /* mov rcx, [rdx+8]          */
            wn(w, "\x48\x8d\x4c\x21\x01", 5);     /* lea rcx, [rcx+rsp+1]      */
            wn(w, "\xe3\x05", 2);
            struct stub *s = add_stub(m, ST_CSYNC);
            s->insn = u->insn;
            to_stub(m, s, -1);
            wn(w, "\x48\x8d\x52\xf0", 4);         /* lea rdx, [rdx-16]         */
            w_fs(w, FS_STORE, IP_RDX, OFF(cs_top));
            s->resume = w->e->len;
        }
        w_mov_rr(w, IP_RCX, IP_RAX);
        w_fs(w, FS_LOAD, IP_RAX, SLOT(IP_RAX));
    }
    point(m, u->insn, 6, IP_PF_COMMITTED);
    if (bytes) {
        wn(w, "\x48\x8d\xa4\x24", 4);             /* lea rsp, [rsp+bytes]      */
        w4(w, bytes);
    }
    indirect(m, u->insn);
}

/* RAX is in its slot and holds the operand's address if via_t. */
static void emit_jmpi(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    const struct ip_insn *in = &m->w.b->insn[u->insn];
    unsigned saved = 6 | (u->via_t ? 1u : 0);
    w_fs(w, FS_STORE, IP_RCX, SLOT(IP_RCX));
    w_fs(w, FS_STORE, IP_RDX, SLOT(IP_RDX));
    point(m, u->insn, (uint16_t)saved, IP_PF_GUEST);
    if (in->mem.present)
        w_load(w, IP_RCX, &u->m);
    else if (u->reg != IP_RCX)
        w_mov_rr(w, IP_RCX, u->reg);
    if (u->via_t) w_fs(w, FS_LOAD, IP_RAX, SLOT(IP_RAX));
    if (u->op == U_CALLI) {
        point(m, u->insn, (uint16_t)saved, IP_PF_GUEST);
        push_return(m, u->set);
    }
    indirect(m, u->insn);
}

static void runtime_exit(struct em *m, uint64_t key, int kind, uint32_t aux) {
    struct writer *w = &m->w;
    int x = add_exit(m, key, kind, aux);
    w_fs_imm32(w, OFF(exit_id), 0);
    w->e->exits[x].id_off = w->e->len - 4;
    w_jmp(w, SYM(w, IP_SYM_EXIT));
}

static void slow_call(struct em *m, const struct uinstr *u, int kind, uint64_t key) {
    struct writer *w = &m->w;
    int x = add_exit(m, key, kind, 0);
    w_fs_imm32(w, OFF(exit_id), 0);
    w->e->exits[x].id_off = w->e->len - 4;
    w_jmp(w, SYM(w, IP_SYM_TRACK));
    w->e->exits[x].patch_off = w->e->len; /* resume here */
    (void)u;
}

static void emit_count(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    w_fs(w, FS_LOAD, IP_RCX, OFF(bbcount));
    wn(w, "\x48\x8d\x49\xff", 4);                 /* lea rcx, [rcx-1]          */
    w_fs(w, FS_STORE, IP_RCX, OFF(bbcount));
    wn(w, "\xe3\x02\xeb\x00", 4);                 /* jrcxz stop; jmp on        */
    uint32_t fix = w->e->len - 1;
    w_fs(w, FS_LOAD, IP_RCX, SLOT(IP_RCX));
    runtime_exit(m, u->imm, IP_X_STOP, 0);
    w->e->code[fix] = (uint8_t)(w->e->len - fix - 1);
}

static void emit_seg_base(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    uint32_t off = u->seg == 4 ? OFF(client_fs) : OFF(client_gs);
    int t = u->t0;
    /* lea t, [base + index*scale + disp] with the segment base as one more
     * addend and no flags touched: first whatever does not use t. */
    const struct uaddr *a = &u->m;
    bool absolute = a->base == IP_REG_NONE && a->index == IP_REG_NONE;
    int64_t disp = absolute && a->addr32 ? (int64_t)(uint32_t)a->disp : a->disp;
    if (absolute && disp == (int32_t)disp) {
        w_fs(w, FS_LOAD, t, off);
        struct uaddr d = {(uint8_t)t, IP_REG_NONE, 1, 0, disp, 0};
        if (disp) w_lea(w, t, &d);
        return;
    }
    if (absolute || a->addr32 || (a->base != IP_REG_NONE && a->index != IP_REG_NONE) ||
        a->base == IP_REG_RIP || a->base == t || a->index == t) {
        /* t = address; then t += segment base by way of the state (no flags):
         * park t, load the base, lea with the parked value reloaded. */
        struct uaddr plain = *a;
        plain.addr32 = 0;
        if (absolute) {
            w_mov_imm(w, t, (uint64_t)disp);
        } else {
            if (a->addr32) w1(w, 0x67);
            w_op_mem(w, 0, a->addr32 ? 4 : 8, 0x8d, 0, t, &plain, 0, 0);
        }
        w_fs(w, FS_STORE, t, OFF(tmp[1]));
        int r = t == IP_RAX ? IP_RDX : IP_RAX;
        w_fs(w, FS_STORE, r, OFF(tmp[2]));
        w_fs(w, FS_LOAD, r, off);
        struct uaddr sum = {(uint8_t)r, (uint8_t)t, 1, 0, 0, 0};
        w_lea(w, t, &sum);
        w_fs(w, FS_LOAD, r, OFF(tmp[2]));
        return;
    }
    struct uaddr one = *a;
    w_fs(w, FS_LOAD, t, off);
    if (a->base == IP_REG_NONE) {
        one.base = (uint8_t)t;
    } else {
        one.base = a->base;
        one.index = (uint8_t)t;
        one.scale = 1;
    }
    w_lea(w, t, &one);
}

/* A signal here steps on until GS is back; a fault finds GS put back by the
 * handler (signal.c, gather). */
static void emit_gs_insn(struct em *m, const struct uinstr *u, const struct ip_insn *in) {
    struct writer *w = &m->w;
    w_fs(w, FS_LOAD, u->t0, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
    w_wrgsbase(w, u->t0);
    point(m, u->insn, u->pad, IP_PF_GUEST);
    ip_copy_gs(w, in);
    point(m, u->insn + 1, u->pad & ~in->gpr_kill, 0);
    if (m->shadow) {
        w_mov_imm(w, u->t0, IP_V_CONST - IP_V_DISP);
        w_wrgsbase(w, u->t0);
    }
}

/* The address of what the instruction stored to tstate.acc_addr, then the
 * runtime (rt_x87_saved).  No register is spilled here. */
static void emit_fpsave(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    struct uinstr ea = *u;
    int t = IP_RAX;
    while (u->m.base == t || u->m.index == t) t++;
    ea.t0 = (uint8_t)t;
    w_fs(w, FS_STORE, t, SLOT(t));
    point(m, u->insn + 1, (uint16_t)(1u << t), 0);
    if (u->seg) {
        emit_seg_base(m, &ea);
    } else {
        if (u->m.addr32) w1(w, 0x67);
        ea.m.addr32 = 0;
        w_op_mem(w, 0, u->m.addr32 ? 4 : 8, 0x8d, 0, t, &ea.m, 0, 0);
    }
    w_fs(w, FS_STORE, t, OFF(acc_addr));
    w_fs(w, FS_LOAD, t, SLOT(t));
    int x = add_exit(m, m->w.b->insn[u->insn].pc, IP_XS_FPSAVE, u->size);
    w_fs_imm32(w, OFF(exit_id), 0);
    w->e->exits[x].id_off = w->e->len - 4;
    w_jmp(w, SYM(w, IP_SYM_LOAD_SLOW));
    w->e->exits[x].patch_off = w->e->len;
    point(m, u->insn + 1, 0, 0);
}

static void emit_uop(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    const struct ip_insn *in = &w->b->insn[u->insn];
    struct slow_site site;
    switch (u->op) {
    case U_INSN:
        if (u->seg) {
            emit_gs_insn(m, u, in);
            break;
        }
        point(m, u->insn, u->pad, IP_PF_GUEST | (u->pad ? 0u : IP_PF_BOUNDARY));
        ip_copy_insn(w, in, u->via_t ? u->t0 : IP_REG_NONE);
        point(m, u->insn + 1, u->pad & ~in->gpr_kill, 0);
        break;
    case U_SEGEA: emit_seg_base(m, u); break;
    case U_FPSAVE: emit_fpsave(m, u); break;
    case U_FAREA: w_mov_imm(w, u->t0, u->imm); break;
    case U_RDSEG:
        if (u->size == 4)
            w_fs32(w, FS_LOAD, u->reg, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
        else
            w_fs(w, FS_LOAD, u->reg, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
        break;
    case U_WRSEG:
        if (u->size == 4) w_fs_imm32(w, (u->seg == 4 ? OFF(client_fs) : OFF(client_gs)) + 4, 0);
        if (u->size == 4)
            w_fs32(w, FS_STORE, u->reg, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
        else
            w_fs(w, FS_STORE, u->reg, u->seg == 4 ? OFF(client_fs) : OFF(client_gs));
        break;
    case U_COUNT: emit_count(m, u); break;
    case U_SETNR:
        if (u->imm < 0x80000000ull) {
            w_fs_imm64(w, OFF(nraddr), (uint32_t)u->imm);
        } else {
            w_fs_imm32(w, OFF(nraddr), (uint32_t)u->imm);
            w_fs_imm32(w, OFF(nraddr) + 4, (uint32_t)(u->imm >> 32));
        }
        break;
    case U_GETNR: w_fs(w, FS_LOAD, IP_RAX, OFF(nraddr)); break;
    case U_JMP: direct_exit(m, u->imm, -1, u->insn); break;
    case U_JCC: direct_exit(m, u->imm, u->kind, u->insn); break;
    case U_LOOPX:
        /* loop rel8 -> +2; jmp over; direct exit */
        wn(w, in->bytes, (unsigned)(in->len - 1));
        w1(w, 2);
        w1(w, 0xeb);
        w1(w, 0);
        {
            uint32_t fix = w->e->len - 1;
            direct_exit(m, u->imm, -1, u->insn);
            w->e->code[fix] = (uint8_t)(w->e->len - fix - 1);
        }
        break;
    case U_CALL:
        point(m, u->insn, 0, IP_PF_GUEST);
        push_return(m, u->set);
        point(m, u->insn, 0, IP_PF_COMMITTED);
        direct_exit(m, u->imm, -1, u->insn);
        break;
    case U_JMPI:
    case U_CALLI: emit_jmpi(m, u); break;
    case U_RET: emit_ret(m, u); break;
    case U_EXIT: runtime_exit(m, u->imm, u->kind, (uint32_t)u->set); break;
    case U_UMASK:
        site.kind = ST_EXIT;
        site.exit_kind = IP_X_DIRECT;
        check_mask(m, u, &site);
        break;
    case U_TMASK:
        site.kind = ST_TRACK;
        site.exit_kind = IP_XS_TRACK;
        check_mask(m, u, &site);
        break;
    case U_TMEM:
        site.kind = ST_TRACK;
        site.exit_kind = IP_XS_TRACK;
        check_zero(m, u, &site);
        break;
    case U_LDCHK:
        site.kind = ST_SLOW;
        site.exit_kind = IP_XS_LOAD;
        check_zero(m, u, &site);
        break;
    case U_STCHK:
        site.kind = ST_SLOW;
        site.exit_kind = IP_XS_STORE;
        check_zero(m, u, &site);
        break;
    case U_STKDEF:
        point(m, u->insn, u->pad, IP_PF_SHADOW);
        sh_fill(w, &u->m, u->size, 0);
        break;
    case U_STKUND:
        point(m, u->insn + 1, u->pad, IP_PF_SHADOW);
        sh_fill(w, &u->m, u->size, 0xff);
        break;
    case U_SPSAVE: w_fs(w, FS_STORE, IP_RSP, OFF(tmp[0])); break;
    case U_SPCHG: slow_call(m, u, IP_XS_SPCHG, (in->pc + in->len) | (u->imm ? IP_KEY_ONE : 0)); break;
    case U_TRACK: slow_call(m, u, IP_XS_TRACK, (uint64_t)u->insn); break;
    case U_TJOIN:
        for (int i = m->join_first; i < m->n_stubs; i++)
            if (m->stubs[i].kind == ST_TRACK) m->stubs[i].resume = w->e->len;
        m->join_first = m->n_stubs;
        break;
    case U_CSPUSH: {
        int t = u->t0;
        struct uaddr up = {(uint8_t)t, IP_REG_NONE, 1, 0, 16, 0};
        struct uaddr at = {(uint8_t)t, IP_REG_NONE, 1, 0, 0, 0};
        struct uaddr at8 = {(uint8_t)t, IP_REG_NONE, 1, 0, 8, 0};
        struct uaddr slot = {IP_RSP, IP_REG_NONE, 1, 0, -8, 0};
        struct uaddr hi = {(uint8_t)t, IP_REG_NONE, 1, 0, 4, 0};
        w_fs(w, FS_LOAD, t, OFF(cs_top));
        w_lea(w, t, &up);
        w_fs(w, FS_STORE, t, OFF(cs_top));
        if (u->imm < 0x80000000ull) {
            w_op_mem(w, 0, 8, 0xc7, 0, 0, &at, 0, 4);
            w4(w, (uint32_t)u->imm);
        } else {
            w_op_mem(w, 0, 4, 0xc7, 0, 0, &at, 0, 4);
            w4(w, (uint32_t)u->imm);
            w_op_mem(w, 0, 4, 0xc7, 0, 0, &hi, 0, 4);
            w4(w, (uint32_t)(u->imm >> 32));
        }
        w_lea(w, IP_RSP, &slot);
        w_op_mem(w, 0, 8, 0x89, 0, IP_RSP, &at8, 0, 0);
        slot.disp = 8;
        w_lea(w, IP_RSP, &slot);
        w_op_mem(w, 0, 8, 0xf7, 0, 2, &at8, 0, 0); /* not qword [t+8]: no flags */
        break;
    }
    case U_SPILL:
        w_fs(w, FS_STORE, u->reg, SLOT(u->reg));
        point(m, u->insn + (u->after_insn ? 1 : 0), u->pad, 0);
        break;
    case U_UNSPILL:
        w_fs(w, FS_LOAD, u->reg, SLOT(u->reg));
        point(m, u->insn + (u->after_insn ? 1 : 0), u->pad, 0);
        break;
    default: w->e->overflow = true; break;
    }
}

static void bind_here(struct em *m, uint32_t from) {
    struct writer *w = &m->w;
    uint32_t rel = w->e->len - (from + 4);
    memcpy(w->e->code + from, &rel, 4);
}

static void unspill_all(struct writer *w, uint16_t regs) {
    for (int r = 0; r < 16; r++)
        if (regs >> r & 1) w_fs(w, FS_LOAD, r, SLOT(r));
}

static void emit_stub(struct em *m, struct stub *s) {
    struct writer *w = &m->w;
    struct emitted *e = w->e;
    int insn = s->insn;
    if (s->kind == ST_EXIT && s->exit >= 0) {
        e->exits[s->exit].stub_off = e->len;
        bind_here(m, s->from);
        point(m, insn + 1, 0, IP_PF_COMMITTED);
        id_and_jump(m, s->exit, IP_SYM_EXIT);
        return;
    }
    bind_here(m, s->from);
    switch (s->kind) {
    case ST_EXIT: /* entry test failed: on in the tracking translation */
        point(m, insn, s->spilled, 0);
        unspill_all(w, s->spilled);
        direct_exit(m, s->pc, -1, insn);
        break;
    case ST_SLOW: {
        int x = add_exit(m, w->b->insn[insn].pc, s->exit_kind, s->size);
        point(m, insn, s->spilled, 0);
        if (s->via_t) {
            w_fs(w, FS_STORE, s->m.base, OFF(acc_addr));
            unspill_all(w, s->spilled);
        } else {
            unspill_all(w, s->spilled);
            int t = s->m.base == IP_RCX || s->m.index == IP_RCX ? IP_RAX : IP_RCX;
            if (s->m.base == t || s->m.index == t) t = IP_RDX;
            w_fs(w, FS_STORE, t, SLOT(t));
            struct uaddr a = s->m;
            a.addr32 = 0;
            if (s->m.addr32) w1(w, 0x67);
            w_op_mem(w, 0, s->m.addr32 ? 4 : 8, 0x8d, 0, t, &a, 0, 0);
            w_fs(w, FS_STORE, t, OFF(acc_addr));
            w_fs(w, FS_LOAD, t, SLOT(t));
        }
        id_and_jump(m, x, s->exit_kind == IP_XS_STORE ? IP_SYM_STORE_SLOW : IP_SYM_TRACK);
        e->exits[x].patch_off = s->resume;
        if (s->via_t) {
            /* The address temporary did not survive: make it again. */
            e->exits[x].patch_off = e->len;
            const struct ublock *b = w->b;
            for (int k = 0; k < b->n_u; k++)
                if (b->u[k].insn == insn && (b->u[k].op == U_SEGEA || b->u[k].op == U_FAREA)) {
                    if (b->u[k].op == U_SEGEA)
                        emit_seg_base(m, &b->u[k]);
                    else
                        w_mov_imm(w, b->u[k].t0, b->u[k].imm);
                    break;
                }
            w_jmp(w, w->host + s->resume);
        }
        break;
    }
    case ST_TRACK: {
        int x = add_exit(m, (uint64_t)insn, IP_XS_TRACK, s->size);
        point(m, insn, s->spilled, 0);
        unspill_all(w, s->spilled);
        id_and_jump(m, x, IP_SYM_TRACK);
        e->exits[x].patch_off = s->resume;
        break;
    }
    case ST_MISS:
        point(m, 0, 6, IP_PF_COMMITTED);
        wn(w, "\x48\x8d\x89", 3);                 /* lea rcx, [rcx + pc]       */
        w4(w, (uint32_t)w->b->key);
        w_jmp(w, SYM(w, IP_SYM_INDIRECT_MISS));
        break;
    case ST_CSYNC:
    case ST_REDZONE:
        w_fs_imm64(w, OFF(resume), w->host + s->resume);
        w_jmp(w, SYM(w, s->kind == ST_CSYNC ? IP_SYM_CS_SYNC : IP_SYM_RED_ZONE));
        break;
    default: e->overflow = true; break;
    }
}

void ip_stage6_emit(const struct ublock *b, struct emitted *e, uint32_t host, const struct ip_jit_opts *o) {
    static _Thread_local struct em m;
    memset(&m, 0, offsetof(struct em, stubs));
    m.n_stubs = m.n_literals = 0;
    m.cur_insn = -1;
    m.join_first = 0;
    m.w.e = e;
    m.w.b = b;
    m.w.o = o;
    m.w.host = host;
    bool bare = (o->flags & IP_C_NO_INSTR) || (b->key & IP_KEY_BARE);
    m.shadow = (o->flags & IP_C_SHADOW) && !bare;
    m.callstack = (o->flags & IP_C_CALLSTACK) && !bare;
    m.bmi2 = __builtin_cpu_supports("bmi2") != 0;
    e->len = 0;
    e->host = host;
    e->n_exits = e->n_points = 0;
    e->overflow = false;
    bool compared = b->checked && !(b->key & IP_KEY_ONE); /* that one was made just now */
    uint32_t stale = compared ? stale_exit(&m) : 0;
    if (b->key < 0x80000000ull) check_entry(&m);
    e->entry = e->len;
    if (compared) recheck(&m, stale);
    for (int k = 0; k < b->n_u && !e->overflow; k++) {
        const struct uinstr *u = &b->u[k];
        if (u->insn != m.cur_insn && !u->after_insn) {
            m.cur_insn = u->insn;
            uint16_t s = u->op == U_SPILL ? (uint16_t)(u->pad & ~(1u << u->reg)) : u->pad;
            if (u->op == U_UNSPILL) s = (uint16_t)(u->pad | 1u << u->reg);
            point(&m, u->insn, s, s ? 0u : IP_PF_BOUNDARY);
        }
        emit_uop(&m, u);
    }
    /* Stubs may add direct exits with stubs of their own. */
    for (int i = 0; i < m.n_stubs && !e->overflow; i++) emit_stub(&m, &m.stubs[i]);
    for (int i = 0; i < m.n_literals; i++) {
        bind_here(&m, m.literals[i].at);
        w8(&m.w, m.literals[i].value);
    }
    if (e->len > 0xfff0) e->overflow = true;
}

/* Stage 6, control flow: entries, indirect jumps, calls and returns. */
#include "jit/emit.h"

/* Guest pc in RCX; RCX and RDX saved in their slots.  The entry of the table
 * is the place before a block where its own pc is compared (check_entry), or
 * rt_miss_stub. */
static void indirect(struct em *m, int insn) {
    struct writer *w = &m->w;
    em_point(m, insn, 6, IP_PF_COMMITTED);
    if (w->b->key & IP_KEY_ONE) { /* comes back, trapflag.c */
        w_jmp(w, SYM(w, IP_SYM_MISS));
        return;
    }
    wn(w, "\x0f\xb7\xd1", 3); /* movzx edx, cx */
    wn(w, "\xff\x24\xd5", 3); /* jmp [rdx*8 + FAST] */
    w4(w, IP_FAST_BASE);
}

/* Where indirect jumps arrive: on if RCX is this block's pc (no flags touched;
 * guest code above 2 GiB is never entered here).  IP_ENTRY_CHECK bytes. */
void em_check_entry(struct em *m) {
    struct writer *w = &m->w;
    em_point(m, 0, 6, IP_PF_COMMITTED);
    wn(w, "\x48\x8d\x89", 3); /* lea rcx, [rcx - pc] */
    w4(w, -(uint32_t)w->b->key);
    wn(w, "\xe3\x05", 2); /* jrcxz over the jmp: EM_CHECK_JRCXZ */
    em_to_stub(m, em_add_stub(m, ST_MISS), -1);
    w_fs(w, FS_LOAD, IP_RCX, SLOT(IP_RCX));
    w_fs(w, FS_LOAD, IP_RDX, SLOT(IP_RDX));
}

void em_id_and_jump(struct em *m, int x, int sym) {
    struct writer *w = &m->w;
    w_fs_imm32(w, OFF(exit_id), 0);
    w->e->exits[x].id_off = w->e->len - 4;
    w_jmp(w, SYM(w, sym));
}

/* The way out comes first, so that all comparisons know where it is. */
uint32_t em_stale_exit(struct em *m) {
    uint32_t at = m->w.e->len;
    em_point(m, 0, 6, IP_PF_COMMITTED);
    w_fs(&m->w, FS_LOAD, IP_RCX, SLOT(IP_RCX));
    w_fs(&m->w, FS_LOAD, IP_RDX, SLOT(IP_RDX));
    em_id_and_jump(m, em_add_exit(m, m->w.b->key, IP_X_STALE, 0), IP_SYM_EXIT);
    return at;
}

void em_recheck(struct em *m, uint32_t stale) {
    w_fs(&m->w, FS_STORE, IP_RCX, SLOT(IP_RCX));
    w_fs(&m->w, FS_STORE, IP_RDX, SLOT(IP_RDX));
    em_point(m, 0, 6, IP_PF_RECHECK);
    ip_emit_recheck(&m->w, stale);
    em_point(m, 0, 6, 0);
    w_fs(&m->w, FS_LOAD, IP_RCX, SLOT(IP_RCX));
    w_fs(&m->w, FS_LOAD, IP_RDX, SLOT(IP_RDX));
}

void em_push_return(struct em *m, uint64_t pc) {
    struct writer *w = &m->w;
    if (pc < 0x80000000ull) {
        w1(w, 0x68);
        w4(w, (uint32_t)pc);
    } else {
        /* RSP last: a fault of the stores must find it as it was. */
        wn(w, "\xc7\x44\x24\xf8", 4); /* mov dword [rsp-8], low */
        w4(w, (uint32_t)pc);
        wn(w, "\xc7\x44\x24\xfc", 4);
        w4(w, (uint32_t)(pc >> 32));
        wn(w, "\x48\x8d\x64\x24\xf8", 5); /* lea rsp, [rsp-8] */
    }
}

/* For the runtime, should the target be none of user space: where the jump is and what it did. */
static void note_jump(struct em *m, const struct uinstr *u, int kind, uint32_t what) {
    struct writer *w = &m->w;
    int x = em_add_exit(m, w->b->insn[u->insn].pc, IP_X_TARGET, (uint32_t)kind | what << 2);
    w_fs_imm32(w, OFF(jump_exit), 0);
    w->e->exits[x].id_off = w->e->len - 4;
}

/* A call through RCX: the return address is not stored if the target cannot be reached.  RDX is free. */
static void check_target(struct em *m, const struct uinstr *u, uint16_t saved) {
    struct writer *w = &m->w;
    note_jump(m, u, IP_JUMP_CALL, w->b->insn[u->insn].len);
    if (!m->bmi2) return;
    wn(w, "\xba\x2f\0\0\0", 5);       /* mov edx, 47 */
    wn(w, "\xc4\xe2\xeb\xf7\xd1", 5); /* shrx rdx, rcx, rdx */
    wn(w, "\x48\x87\xca\xe3\x05", 5); /* xchg rdx, rcx; jrcxz */
    struct stub *s = em_add_stub(m, ST_TARGET);
    em_to_stub(m, s, -1);
    s->insn = u->insn;
    s->spilled = saved;
    w_mov_rr(w, IP_RCX, IP_RDX);
}

/* The replacement functions push no entries, but were called by code that did:
 * an entry of this very return address goes, any other stays.  RCX and RDX free. */
static void pop_caller(struct em *m) {
    struct writer *w = &m->w;
    w_fs(w, FS_LOAD, IP_RDX, OFF(cs_top));
    wn(w, "\x48\x8b\x4a\x08", 4);     /* mov rcx, [rdx+8] */
    wn(w, "\x48\x8d\x4c\x0c\x01", 5); /* lea rcx, [rsp+rcx+1] */
    wn(w, "\xe3\x02\xeb\x00", 4);     /* jrcxz pop; jmp on */
    uint32_t fix = w->e->len - 1;
    wn(w, "\x48\x8d\x52\xf0", 4); /* lea rdx, [rdx-16] */
    w_fs(w, FS_STORE, IP_RDX, OFF(cs_top));
    w->e->code[fix] = (uint8_t)(w->e->len - fix - 1);
}

void em_ret(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    struct uaddr top = {IP_RSP, IP_REG_NONE, 1, 0, 0, 0};
    unsigned bytes = 8 + (unsigned)u->imm;
    w_fs(w, FS_STORE, IP_RCX, SLOT(IP_RCX));
    w_fs(w, FS_STORE, IP_RDX, SLOT(IP_RDX));
    if (m->exact) note_jump(m, u, IP_JUMP_RET, (uint32_t)u->imm);
    if (!m->shadow && !m->callstack) {
        if (m->callers) pop_caller(m);
        em_point(m, u->insn, 6, IP_PF_GUEST);
        w1(w, 0x59); /* pop rcx */
        bytes -= 8;
    } else {
        w_fs(w, FS_STORE, IP_RAX, SLOT(IP_RAX));
        em_point(m, u->insn, 7, IP_PF_GUEST);
        w_load(w, IP_RAX, &top);
        em_point(m, u->insn, 7, IP_PF_COMMITTED);
        if (m->shadow) {
            if (!w->b->keeps_stack) em_sh_fill(w, &top, bytes <= 256 ? bytes : 8, 0xff);
            w_fs(w, FS_LOAD, IP_RCX, OFF(redzone_not_lo));
            wn(w, "\xe3\x05", 2); /* jrcxz: clean */
            struct stub *s = em_add_stub(m, ST_REDZONE);
            s->insn = u->insn;
            em_to_stub(m, s, -1);
            s->resume = w->e->len;
        }
        if (m->callstack) {
            w_fs(w, FS_LOAD, IP_RDX, OFF(cs_top));
            wn(w, "\x48\x8b\x4a\x08", 4);     /* mov rcx, [rdx+8] */
            wn(w, "\x48\x8d\x4c\x0c\x01", 5); /* lea rcx, [rsp+rcx+1] */
            wn(w, "\xe3\x05", 2);
            struct stub *s = em_add_stub(m, ST_CSYNC);
            s->insn = u->insn;
            em_to_stub(m, s, -1);
            wn(w, "\x48\x8d\x52\xf0", 4); /* lea rdx, [rdx-16] */
            w_fs(w, FS_STORE, IP_RDX, OFF(cs_top));
            s->resume = w->e->len;
        }
        w_mov_rr(w, IP_RCX, IP_RAX);
        w_fs(w, FS_LOAD, IP_RAX, SLOT(IP_RAX));
    }
    em_point(m, u->insn, 6, IP_PF_COMMITTED);
    if (bytes) {
        wn(w, "\x48\x8d\xa4\x24", 4); /* lea rsp, [rsp+bytes] */
        w4(w, bytes);
    }
    indirect(m, u->insn);
}

/* RAX is in its slot and holds the operand's address if via_t. */
void em_jmpi(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    const struct ip_insn *in = &m->w.b->insn[u->insn];
    unsigned saved = 6 | (u->via_t ? 1u : 0);
    w_fs(w, FS_STORE, IP_RCX, SLOT(IP_RCX));
    w_fs(w, FS_STORE, IP_RDX, SLOT(IP_RDX));
    em_point(m, u->insn, (uint16_t)saved, IP_PF_GUEST);
    if (in->mem.present)
        w_load(w, IP_RCX, &u->m);
    else if (u->reg != IP_RCX)
        w_mov_rr(w, IP_RCX, u->reg);
    if (u->via_t) w_fs(w, FS_LOAD, IP_RAX, SLOT(IP_RAX));
    if (m->exact && u->op == U_CALLI)
        check_target(m, u, (uint16_t)(saved & 6));
    else if (m->exact)
        note_jump(m, u, IP_JUMP_JMP, 0);
    if (u->op == U_CALLI) {
        em_point(m, u->insn, (uint16_t)saved, IP_PF_GUEST);
        em_push_return(m, u->set);
    }
    indirect(m, u->insn);
}

void em_runtime_exit(struct em *m, uint64_t key, int kind, uint32_t aux) {
    struct writer *w = &m->w;
    int x = em_add_exit(m, key, kind, aux);
    w_fs_imm32(w, OFF(exit_id), 0);
    w->e->exits[x].id_off = w->e->len - 4;
    w_jmp(w, SYM(w, IP_SYM_EXIT));
}

void em_slow_call(struct em *m, const struct uinstr *u, int kind, uint64_t key) {
    struct writer *w = &m->w;
    int x = em_add_exit(m, key, kind, 0);
    w_fs_imm32(w, OFF(exit_id), 0);
    w->e->exits[x].id_off = w->e->len - 4;
    w_jmp(w, SYM(w, IP_SYM_SLOW_LIGHT));
    w->e->exits[x].patch_off = w->e->len; /* resume here */
    (void)u;
}

void em_count(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    w_fs(w, FS_LOAD, IP_RCX, OFF(bbcount));
    wn(w, "\x48\x8d\x49\xff", 4); /* lea rcx, [rcx-1] */
    w_fs(w, FS_STORE, IP_RCX, OFF(bbcount));
    wn(w, "\xe3\x02\xeb\x00", 4); /* jrcxz stop; jmp on */
    uint32_t fix = w->e->len - 1;
    w_fs(w, FS_LOAD, IP_RCX, SLOT(IP_RCX));
    em_runtime_exit(m, u->imm, IP_X_STOP, 0);
    w->e->code[fix] = (uint8_t)(w->e->len - fix - 1);
}

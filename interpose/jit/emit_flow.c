/* Stage 6, control flow: entries, indirect jumps, calls and returns. */
#include "abi/count.h"
#include "abi/space.h"
#include "jit/emit.h"

/* Nops that nobody runs, so that the entry is aligned as the block is. */
enum { ENTRY_PAD = IP_ENTRY_CHECK - (LEA64_WIDE_BYTES + JRCXZ_BYTES + JMP_BYTES + 2 * LOAD64_FS_BYTES) };
_Static_assert(ENTRY_PAD >= 0 && IP_ENTRY_CHECK % 16 == 0,
               "em_check_entry: entry.S goes from the entry to the check and back");
_Static_assert(LEA64_WIDE_BYTES - 4 == 3, "em_check_entry: entry.S, rt_find_stub, finds the key there");
_Static_assert(EM_CHECK_JRCXZ == LEA64_WIDE_BYTES, "em_check_entry: transtab.c closes the entry there");
_Static_assert(offsetof(struct ip_csent, retaddr) == 0 && sizeof(struct ip_csent) == 16, "the stubs of the call stack");
_Static_assert(IP_FAST_BITS == 16, "indirect: the low 16 bits of the pc are the index");
_Static_assert(IP_FAST_BASE <= INT32_MAX && IP_CACHE_BASE + IP_CACHE_MAX <= INT32_MAX && IP_RT_BASE <= INT32_MAX,
               "displacements and immediates of 32 bits are sign-extended");

/* Guest pc in RDX; RCX and RDX saved in their slots.  The entry of the table
 * is the place before a block where its own pc is compared (check_entry), or
 * rt_find_stub. */
static void indirect(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    em_point(m, u->insn, RCX_RDX, IP_PF_COMMITTED);
    if (m->counts) em_leave_context(m, u->op == U_RET ? IP_CT_RETURN : u->op == U_JMPI ? IP_CT_INDIRECT : IP_CT_CALL);
    if (m->b->key & IP_KEY_ONE) { /* comes back, trapflag.c */
        put_jmp_sym(m, IP_SYM_MISS);
        return;
    }
    put_movzx16(w, IP_RCX, IP_RDX);
    put_jmp_mem(w, addr_element(IP_FAST_BASE, IP_RCX, 8));
}

/* Where indirect jumps arrive: on if RDX is this block's pc (no flags touched;
 * guest code above 2 GiB is never entered here).  RDX is the pc still where it is not. */
void em_check_entry(struct em *m) {
    struct writer *w = &m->w;
    em_point(m, 0, RCX_RDX, IP_PF_COMMITTED);
    put_lea(w, 8, IP_RCX, addr_wide(IP_RDX, -(int64_t)m->b->key));
    put_jrcxz(w, JMP_BYTES + ENTRY_PAD);
    put_jmp_sym(m, IP_SYM_INDIRECT_MISS);
    for (int i = 0; i < ENTRY_PAD; i++) put_nop(w);
    restore_reg(w, IP_RCX);
    restore_reg(w, IP_RDX);
}

/* Who arrives there goes to offset to, with RCX and RDX in their slots still. */
void em_lead_entry(struct em *m, uint32_t to) {
    struct writer *w = &m->w;
    uint32_t len = w->len, entry = m->e->entry;
    w->len = entry - 2 * LOAD64_FS_BYTES;
    put_jmp(w, w->base + to);
    while (w->len < entry) put_nop(w);
    w->len = len;
}

void em_note_exit(struct em *m, struct uaddr field, int x) {
    put_store_imm(&m->w, 4, field, 0);
    m->e->exits[x].id_off = m->w.len - 4;
}

void em_leave(struct em *m, int x, enum ip_sym sym) {
    em_note_exit(m, STATE(exit_id), x);
    put_jmp_sym(m, sym);
}

void em_slow_call(struct em *m, enum ip_sym sym, int kind, uint64_t key, uint32_t aux) {
    int x = em_add_exit(m, key, kind, aux);
    /* Where to go on is in the exit's record, too, which is probably in no cache. */
    uint32_t place = sym == IP_SYM_GIVE_BACK ? em_note_place(m, STATE(target), m->w.len) : 0;
    em_leave(m, x, sym);
    if (place) writer_bind_address(&m->w, place);
    m->e->exits[x].patch_off = m->w.len;
}

/* The way out comes first, so that all comparisons know where it is. */
uint32_t em_stale_exit(struct em *m) {
    uint32_t at = m->w.len;
    em_point(m, 0, RCX_RDX, IP_PF_COMMITTED);
    restore_reg(&m->w, IP_RCX);
    restore_reg(&m->w, IP_RDX);
    em_leave(m, em_add_exit(m, m->b->key, IP_X_STALE, 0), IP_SYM_EXIT);
    return at;
}

void em_push_return(struct em *m, uint64_t pc) {
    struct writer *w = &m->w;
    if (pc <= INT32_MAX) {
        put_push_imm(w, (uint32_t)pc);
    } else {
        /* RSP last: a fault of the stores must find it as it was. */
        put_store_imm(w, 4, addr_at(IP_RSP, -8), (uint32_t)pc);
        put_store_imm(w, 4, addr_at(IP_RSP, -4), (uint32_t)(pc >> 32));
        put_lea(w, 8, IP_RSP, addr_at(IP_RSP, -8));
    }
}

/* For the runtime, should the target be none of user space: where the jump is and what it did. */
static void note_jump(struct em *m, const struct uinstr *u, enum ip_jump kind, uint32_t what) {
    uint32_t aux = (uint32_t)kind | what << 2;
    em_note_exit(m, STATE(jump_exit), em_add_exit(m, m->b->insn[u->insn].pc, IP_X_TARGET, aux));
}

/* A call through RDX: the return address is not stored if the target cannot be reached.  RCX is free. */
static void check_target(struct em *m, const struct uinstr *u, uint16_t saved) {
    struct writer *w = &m->w;
    note_jump(m, u, IP_JUMP_CALL, m->b->insn[u->insn].len);
    if (!m->bmi2) return;
    put_mov_imm(w, IP_RCX, 47);
    put_shrx(w, IP_RCX, IP_RDX, IP_RCX);
    put_jrcxz(w, JMP_BYTES);
    struct stub *s = em_add_stub(m, ST_TARGET);
    em_to_stub(m, s, CC_ALWAYS);
    s->insn = u->insn;
    s->spilled = saved;
}

/* The replacement functions push no entries, but were called by code that did:
 * an entry of this very return address goes, any other stays.  RCX and RDX free. */
static void pop_caller(struct em *m) {
    struct writer *w = &m->w;
    put_load(w, 8, IP_RDX, STATE(cs_top));
    put_load(w, 8, IP_RCX, addr_at(IP_RDX, offsetof(struct ip_csent, above)));
    put_not(w, IP_RCX);
    put_lea(w, 8, IP_RCX, addr_sum(IP_RSP, IP_RCX, 1 + 8)); /* RSP + 8 - above */
    put_jrcxz(w, JMP_SHORT_BYTES);
    uint32_t other = put_jmp_short_open(w);
    put_lea(w, 8, IP_RDX, addr_at(IP_RDX, -(int64_t)sizeof(struct ip_csent)));
    put_store(w, 8, STATE(cs_top), IP_RDX);
    writer_bind8(w, other);
}

/* RDX: the newest entry of the call stack, which is of the return address at RSP, and the red zone is clean; else to a
 * stub.  Each jrcxz is a branch that is taken, so there is one for both: of a difference of addresses, less than 2^48
 * either way, and what is 0 or between 2^62 and 2^63, the sum is 0 only if both are. */
static void check_return(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    uint32_t begin = w->len;
    put_load(w, 8, IP_RCX, STATE(cs_top));
    put_load(w, 8, IP_RDX, STATE(redzone_not_lo));
    put_load(w, 8, IP_RCX, addr_at(IP_RCX, offsetof(struct ip_csent, above)));
    put_lea(w, 8, IP_RDX, addr_sum(IP_RSP, IP_RDX, 1 + 8));
    put_not(w, IP_RCX);
    put_lea(w, 8, IP_RCX, addr_sum(IP_RDX, IP_RCX, 0)); /* RSP + 8 - above + redzone_not_lo */
    put_jrcxz(w, JMP_BYTES);
    struct stub *s = em_add_stub(m, ST_RETURN);
    em_to_stub(m, s, CC_ALWAYS);
    s->insn = u->insn;
    s->past = begin;
    put_load(w, 8, IP_RDX, STATE(cs_top));
    s->resume = w->len;
}

/* The red zone is cleaned, and all compared again; or the call stack is brought into step. */
void em_return_stub(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    put_load(w, 8, IP_RCX, STATE(redzone_not_lo));
    put_jrcxz(w, 0);
    uint32_t clean = w->len - 1;
    em_note_place(m, STATE(resume), s->past);
    put_jmp_sym(m, IP_SYM_RED_ZONE);
    writer_bind8(w, clean);
    em_note_place(m, STATE(resume), s->resume);
    put_jmp_sym(m, IP_SYM_CS_SYNC);
}

void em_ret(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    unsigned bytes = 8 + (unsigned)u->imm;
    save_reg(w, IP_RCX);
    save_reg(w, IP_RDX);
    if (m->notes_jumps) note_jump(m, u, IP_JUMP_RET, (uint32_t)u->imm);
    if (m->callstack)
        check_return(m, u);
    else if (m->callers)
        pop_caller(m);
    if (m->callstack) put_lea(w, 8, IP_RCX, addr_at(IP_RDX, -(int64_t)sizeof(struct ip_csent)));
    em_point(m, u->insn, RCX_RDX, IP_PF_GUEST);
    put_pop(w, IP_RDX);
    em_point(m, u->insn, RCX_RDX, IP_PF_COMMITTED);
    if (m->callstack) put_store(w, 8, STATE(cs_top), IP_RCX);
    if (m->shadow && !m->b->keeps_stack) em_sh_fill(m, addr_at(IP_RSP, -8), bytes <= 256 ? bytes : 8, 0xff);
    if (u->imm) put_lea(w, 8, IP_RSP, addr_wide(IP_RSP, (int64_t)u->imm));
    indirect(m, u);
}

/* RAX is in its slot and holds the operand's address if via_t. */
void em_jmpi(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    uint16_t saved = u->via_t ? RAX_RCX_RDX : RCX_RDX;
    if (u->imm) { /* flags are dead */
        em_point(m, u->insn, 0, IP_PF_GUEST);
        put_cmp_imm32(w, 8, u->m, (uint32_t)u->imm);
        em_direct_exit(m, u->imm & ~JMPI_UNBOUND, IP_CC_Z, u->insn);
    }
    if (u->imm & JMPI_UNBOUND) { /* nothing was done yet but an endbr64 */
        em_point(m, 0, 0, IP_PF_COMMITTED);
        em_leave(m, em_add_exit(m, m->b->key, IP_X_STALE, 0), IP_SYM_EXIT);
        return;
    }
    save_reg(w, IP_RCX);
    save_reg(w, IP_RDX);
    em_point(m, u->insn, saved, IP_PF_GUEST);
    if (m->b->insn[u->insn].mem.present)
        put_load(w, 8, IP_RDX, u->m);
    else if (u->reg != IP_RDX)
        put_mov(w, IP_RDX, u->reg);
    if (u->via_t) restore_reg(w, IP_RAX);
    if (m->notes_jumps && u->op == U_CALLI)
        check_target(m, u, RCX_RDX);
    else if (m->notes_jumps)
        note_jump(m, u, IP_JUMP_JMP, 0);
    if (u->op == U_CALLI) {
        em_point(m, u->insn, saved, IP_PF_GUEST);
        em_push_return(m, u->set);
    }
    indirect(m, u);
}

void em_count(struct em *m, const struct uinstr *u) {
    struct writer *w = &m->w;
    put_load(w, 8, IP_RCX, STATE(bbcount));
    put_lea(w, 8, IP_RCX, addr_at(IP_RCX, -1));
    put_store(w, 8, STATE(bbcount), IP_RCX);
    put_jrcxz(w, JMP_SHORT_BYTES);
    uint32_t more = put_jmp_short_open(w);
    em_restore_all(w, u->spilled); /* a run's record may have taken others before */
    em_leave(m, em_add_exit(m, u->imm, IP_X_STOP, 0), IP_SYM_EXIT);
    writer_bind8(w, more);
}

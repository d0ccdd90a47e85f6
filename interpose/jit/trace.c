/* What a block's run writes down (abi/trace.h): its template, and the uops that store the record.
 *
 * Either an operand's address is not computed in the program: the registers that it is formed of are stored, each once
 * in a block for as long as what the block adds to it is known, and most stack accesses need no store of their own.  Or
 * it is (IP_C_TRACE_ADDRESSES), for those who want every address: there is less to store, but more to do for who reads.
 */
#include <string.h>

#include "abi/channel.h"
#include "abi/count.h"
#include "abi/exits.h"
#include "abi/inline/line.h"
#include "abi/inline/sparse.h"
#include "abi/inline/state.h"
#include "abi/space.h"
#include "jit/native_api.h"
#include "jit/trace.h"
#include "jit/ways.h"
#include "jit/x86_decode.h"

#define NO_WORD      0xffff
#define MAX_ACCESSES 400
#define MAX_WORDS    IP_TR_MAX_WORDS
#define GPRS         16
#define BY_RUNTIME   0xfe /* for a word.reg: when the instruction runs, the runtime stores it */
#define ZERO_FLAG    0xfd /* likewise: it, behind the instruction */

/* ---- A block's template ---------------------------------------------------------------------------------------- */

struct word {
    int16_t insn;
    uint8_t reg; /* or IP_REG_NONE: the address; BY_RUNTIME, ZERO_FLAG */
    bool after;
    struct uaddr address;
};

struct plan {
    struct ip_tr_insn insn[UB_MAX_INSN];
    struct ip_tr_access access[MAX_ACCESSES];
    struct word word[MAX_WORDS];
    int n_access, n_word;
    /* Of each register: the word that holds it but for delta, or NO_WORD. */
    uint16_t held[GPRS];
    int64_t delta[GPRS];
    bool full;
    bool addresses; /* are computed in the program */
};

static uint16_t add_word(struct plan *p, struct word w) {
    if (p->n_word == MAX_WORDS) {
        p->full = true;
        return 0;
    }
    p->word[p->n_word] = w;
    return (uint16_t)p->n_word++;
}

static uint16_t new_word(struct plan *p, int insn, int reg, bool after) {
    return add_word(p, (struct word){.insn = (int16_t)insn, .reg = (uint8_t)reg, .after = after});
}

/* The word that holds the register, but for delta, when the instruction begins. */
static uint16_t word_of(struct plan *p, int insn, int reg) {
    if (p->held[reg] == NO_WORD) {
        p->held[reg] = new_word(p, insn, reg, false);
        p->delta[reg] = 0;
    }
    return p->held[reg];
}

/* What the instruction adds to the register; false: not known. */
static bool step_of(const struct ip_insn *in, int reg, int64_t *step) {
    if (reg == IP_RSP) return ip_rsp_step(in, step);
    if ((in->mnem == IP_MN_INC || in->mnem == IP_MN_DEC) && in->opsize == 8 && !in->mem.present) {
        *step = in->mnem == IP_MN_INC ? 1 : -1;
        return true;
    }
    if (in->opsize != 8 || in->n_ops < 2 || in->ops[0].kind != IP_OP_GPR || in->ops[0].reg != reg) return false;
    switch (in->mnem) {
    case IP_MN_ADD:
    case IP_MN_SUB:
        if (in->ops[1].kind != IP_OP_IMM) return false;
        *step = in->mnem == IP_MN_ADD ? in->imm : -in->imm;
        return true;
    case IP_MN_LEA:
        if (in->mem.base != reg || in->mem.index != IP_REG_NONE || in->mem.addr32 || in->mem.seg) return false;
        *step = in->mem.disp;
        return true;
    default: return false;
    }
}

static void registers_change(struct plan *p, const struct ip_insn *in) {
    for (unsigned left = in->gpr_write; left; left &= left - 1) {
        int r = __builtin_ctz(left);
        int64_t step;
        if (p->held[r] != NO_WORD && step_of(in, r, &step))
            p->delta[r] += step;
        else
            p->held[r] = NO_WORD;
    }
}

/* With address NULL, a says what it is formed of. */
static void add_access(struct plan *p, int i, struct ip_tr_access a, const struct uaddr *address) {
    if (p->n_access == MAX_ACCESSES) {
        p->full = true;
        return;
    }
    if (address) {
        a.base = add_word(p, (struct word){.insn = (int16_t)i, .reg = IP_REG_NONE, .address = *address});
        a.disp = 0;
        if (!p->insn[i].rep && !(a.flags & IP_TRA_BIT))
            a.flags &= (uint8_t)~IP_TRA_ADDR32; /* else that is not all that it says */
    }
    a.insn = (uint16_t)i;
    p->access[p->n_access++] = a;
    p->insn[i].n_accesses++;
}

/* Does a register say which bit, perhaps far beyond the operand? */
static bool is_bit_string(const struct ip_insn *in) {
    bool bit = in->mnem == IP_MN_BT || in->mnem == IP_MN_BTS || in->mnem == IP_MN_BTR || in->mnem == IP_MN_BTC;
    return bit && !in->imm_len;
}

static struct ip_tr_access explicit_operand(struct plan *p, const struct ip_insn *in, int i) {
    const struct ip_mem *m = &in->mem;
    struct ip_tr_access a = {.base = NO_WORD, .index = NO_WORD, .scale = 1, .seg = m->seg, .size = m->size};
    bool bit = is_bit_string(in);
    if (bit) {
        /* A step of the register does not move the address by as much. */
        a.index = new_word(p, i, in->ops[1].reg, false);
        a.scale = in->opsize;
        a.flags = (uint8_t)(IP_TRA_BIT | (m->addr32 ? IP_TRA_ADDR32 : 0));
        a.size = 1; /* the byte that holds the bit */
        return a;
    }
    if (p->addresses) return a; /* add_access gives it its word */
    a.disp = m->disp;
    if (m->base == IP_REG_RIP) {
        a.disp = (int64_t)m->rip_target;
    } else if (m->base < GPRS) {
        a.base = word_of(p, i, m->base);
        a.disp += p->delta[m->base];
        /* pop forms the address with RSP as it is afterwards (SDM, "POP") */
        if (in->mnem == IP_MN_POP && m->base == IP_RSP) a.disp += m->size;
    }
    if (!m->vsib && m->index < GPRS) {
        a.index = word_of(p, i, m->index);
        a.scale = m->scale;
        a.disp += p->delta[m->index] * m->scale;
    }
    if (m->addr32) a.flags |= IP_TRA_ADDR32;
    return a;
}

static struct ip_tr_access implicit_operand(struct plan *p, const struct ip_insn *in, int i,
                                            const struct ip_operand *op) {
    struct ip_tr_access a = {.base = NO_WORD, .index = NO_WORD, .scale = 1, .size = op->size};
    bool xlat = in->mnem == IP_MN_XLATB;
    if (!p->addresses || xlat) {
        a.base = word_of(p, i, op->reg);
        a.disp = p->delta[op->reg];
    }
    if (xlat) {
        a.index = new_word(p, i, IP_RAX, false);
        a.flags |= IP_TRA_BYTE;
    }
    if (op->reg == IP_RSP) {
        a.flags |= IP_TRA_STACK;
        if (op->access & IP_ACC_W) a.disp -= op->size;
    }
    for (int k = 0; k < in->n_prefix && op->reg != IP_RSP; k++)
        if (in->bytes[k] == IP_PREFIX_ADDRSIZE) a.flags |= IP_TRA_ADDR32;
    if (op->reg == IP_RSI || xlat || in->mnem == IP_MN_MASKMOVDQU || in->mnem == IP_MN_MASKMOVQ)
        for (int k = 0; k < in->n_prefix; k++)
            if (in->bytes[k] == IP_PREFIX_FS || in->bytes[k] == IP_PREFIX_GS)
                a.seg = in->bytes[k] == IP_PREFIX_FS ? IP_SEG_FS : IP_SEG_GS;
    return a;
}

/* strncmp, which the program's process has not. */
static bool is_named(const struct ip_insn *in, const char *begin) {
    const char *name = ip_mnem_name(in->mnem);
    while (*begin && *begin == *name) begin++, name++;
    return !*begin;
}

static bool is_prefetch(const struct ip_insn *in) { return is_named(in, "prefetch"); }

/* Where the operand lies when the instruction begins; false: that is not one address. */
static bool address_of(const struct plan *p, const struct ip_insn *in, const struct ip_operand *implicit,
                       const struct ip_tr_access *a, struct uaddr *address) {
    if (a->flags & IP_TRA_BYTE || !(p->addresses || a->flags & IP_TRA_BIT)) return false;
    if (!implicit) {
        memset(address, 0, sizeof *address);
        uaddr_from_mem(address, &in->mem);
        if (in->mnem == IP_MN_POP && in->mem.base == IP_RSP) address->disp += in->mem.size;
        return true;
    }
    *address = addr_at(implicit->reg, a->disp);
    address->addr32 = (a->flags & IP_TRA_ADDR32) != 0;
    return true;
}

/* What the runtime finds out when the instruction runs (trace/some.c): each has a word. */
static void some_access(struct plan *p, int i, unsigned kind, uint32_t size) {
    struct ip_tr_access a = {.index = NO_WORD, .scale = 1, .flags = IP_TRA_MAYBE};
    a.base = add_word(p, (struct word){.insn = (int16_t)i, .reg = BY_RUNTIME});
    a.kind = (uint8_t)kind;
    a.size = (uint16_t)size;
    add_access(p, i, a, NULL);
}

/* An element each. */
static void elements_of(struct plan *p, const struct ip_insn *in, int i) {
    for (unsigned k = ip_n_elements(in); k > 0; k--)
        some_access(p, i, in->mem.access & IP_ACC_W ? IP_ACC_W : IP_ACC_R, in->mem.size);
}

static void state_of(struct plan *p, const struct ip_insn *in, int i) {
    unsigned kind = ip_saves(in) ? IP_ACC_W : IP_ACC_R;
    for (unsigned part = 0; part < IP_XP_COMPONENTS; part++)
        some_access(p, i, part == IP_XP_OLD_HEADER ? IP_ACC_R : kind, ip_state_part_size(in, part));
    const struct tracing *t = tt_tracing();
    for (uint64_t left = t->components >> 2 << 2; left; left &= left - 1)
        some_access(p, i, kind, t->component_size[__builtin_ctzll(left)]);
}

static void accesses_of(struct plan *p, const struct ip_insn *in, int i) {
    struct ip_tr_access explicit = {0}, implicit[5];
    struct uaddr address;
    bool real = in->mem.present && !(in->mem.access & IP_ACC_ADDR);
    bool hint = in->mem.present && !real && is_prefetch(in);
    p->insn[i].first_access = (uint16_t)p->n_access;
    if (real && (in->mem.vsib || ip_saves(in) || ip_restores(in))) {
        in->mem.vsib ? elements_of(p, in, i) : state_of(p, in, i);
        return;
    }
    if (ip_clears_line(in)) {
        some_access(p, i, IP_ACC_W, IP_LINE);
        return;
    }
    if (real || hint) explicit = explicit_operand(p, in, i);
    for (int k = 0; k < in->n_ops; k++)
        if (in->ops[k].kind == IP_OP_MEM_IMPL) implicit[k] = implicit_operand(p, in, i, &in->ops[k]);
    for (unsigned kind = IP_ACC_R; kind <= IP_ACC_W; kind++) {
        if (real && (in->mem.access & kind)) {
            explicit.kind = (uint8_t)kind;
            add_access(p, i, explicit, address_of(p, in, NULL, &explicit, &address) ? &address : NULL);
        }
        for (int k = 0; k < in->n_ops; k++) {
            if (in->ops[k].kind != IP_OP_MEM_IMPL || !(in->ops[k].access & kind)) continue;
            implicit[k].kind = (uint8_t)kind;
            bool known = address_of(p, in, &in->ops[k], &implicit[k], &address);
            add_access(p, i, implicit[k], known ? &address : NULL);
        }
    }
    if (hint) {
        explicit.kind = IP_ACC_R;
        explicit.flags |= IP_TRA_PREFETCH;
        add_access(p, i, explicit, NULL);
    }
}

/* cmps or scas, which end for the zero flag, too. */
static bool compares(const struct ip_insn *in) { return is_named(in, "cmps") || is_named(in, "scas"); }

/* How often a repeated instruction has repeated: counted as instructions, and as accesses. */
static void repetitions_of(struct plan *p, const struct ip_insn *in, int i, bool words) {
    if (!in->rep) return;
    bool to = in->addr_read >> IP_RDI & 1;
    if (!words) return;
    p->insn[i].rep_words = new_word(p, i, IP_RCX, false);
    new_word(p, i, IP_RCX, true);
    new_word(p, i, to ? IP_RDI : IP_RSI, true);
    if (compares(in)) new_word(p, i, ZERO_FLAG, true);
}

static uint8_t kind_of(const struct ip_insn *in) {
    switch (in->flow) {
    case IP_F_JMP: return IP_TR_DIRECT_JUMP;
    case IP_F_JCC:
    case IP_F_LOOP:
    case IP_F_XBEGIN: return IP_TR_COND_JUMP;
    case IP_F_CALL: return IP_TR_DIRECT_CALL;
    case IP_F_CALLI: return IP_TR_INDIRECT_CALL;
    case IP_F_JMPI: return IP_TR_INDIRECT_JUMP;
    case IP_F_IRET:
    case IP_F_RET: return IP_TR_RETURN;
    case IP_F_SYSCALL: return IP_TR_SYSCALL_INSN;
    default: return IP_TR_PLAIN;
    }
}

static void ends_with(struct ip_tr_block *t, const struct ublock *in) {
    const struct uinstr *u = &in->u[in->n_u - 1];
    const struct ip_insn *last = &in->insn[in->n_insn - 1];
    t->next = last->pc + last->len;
    switch (u->op) {
    case U_JMP:
        t->end = IP_TR_NEXT;
        t->next = u->imm;
        if (last->flow == IP_F_JCC || last->flow == IP_F_LOOP || last->flow == IP_F_XBEGIN) {
            t->end = IP_TR_JCC;
            t->target = last->target;
        }
        break;
    case U_CALL:
        t->end = IP_TR_CALL;
        t->target = u->imm;
        break;
    case U_CALLI: t->end = IP_TR_CALLI; break;
    case U_JMPI: t->end = IP_TR_JMPI; break;
    case U_RET: t->end = IP_TR_RET; break;
    case U_EXIT:
        t->end = u->kind == IP_X_SYSCALL || u->kind == IP_X_SYSCALL32 ? IP_TR_SYSTEM
                 : u->kind == IP_X_REQUEST                            ? IP_TR_REQUEST
                 : u->kind == IP_X_NOREDIR                            ? IP_TR_CALLI
                                                                      : IP_TR_OTHER;
        break;
    default: t->end = IP_TR_OTHER; break;
    }
}

/* For who wants to know what functions are called with. */
static void arguments(struct plan *p, struct ip_tr_block *t, const struct ublock *in) {
    static const uint8_t args[] = {IP_RDI, IP_RSI, IP_RDX, IP_RCX, IP_R8, IP_R9};
    if (!ip_trace_begins(in->pc)) return;
    for (size_t n = 0; n < sizeof args; n++) {
        uint16_t word = new_word(p, 0, args[n], false);
        if (n == 0) t->args_word = word;
    }
}

static bool leaves_frame(uint8_t end) {
    return end == IP_TR_CALL || end == IP_TR_CALLI || end == IP_TR_JMPI || end == IP_TR_RET;
}

#define TEMPLATE_MAX                                                                                                   \
    (sizeof(struct ip_tr_block) + UB_MAX_INSN * sizeof(struct ip_tr_insn) + MAX_ACCESSES * sizeof(struct ip_tr_access))
_Static_assert(sizeof(struct ip_tr_block) % 8 == 0 && sizeof(struct ip_tr_insn) % 8 == 0 &&
                   sizeof(struct ip_tr_access) % 8 == 0,
               "templates are compared and hashed by words, so nothing in them is padding");
_Static_assert(sizeof(struct plan) % 8 == 0 && sizeof(struct plan) + TEMPLATE_MAX <= TRACE_SCRATCH,
               "a plan, and the template behind it");
_Static_assert((MAX_WORDS + 1) * 8 < IP_TR_SLACK, "the longest record fits behind a full buffer");

/* Conditional jumps before the last instruction. */
static int sides_of(const struct ublock *in) {
    int n = 0;
    for (int k = 0; k < in->n_u; k++) n += in->u[k].op == U_JCC && in->u[k].insn != in->n_insn - 1;
    return n;
}

/* Whose blocks have their counters in common, and in code without a name where its part begins. */
static void place(struct ip_tr_block *t, bool counts) {
    uint32_t part = ip_trace_part(t->pc, &t->home);
    if (part) {
        t->where = IP_CT_BLOCK | part;
    } else if (counts && t->function && !(t->function & IP_CT_APART)) {
        t->where = t->function;
    }
}

static uint64_t *return_point(uint64_t pc, uint64_t *bit) {
    uint64_t h = pc * 0x9e3779b97f4a7c15ull >> 44;
    *bit = 1ull << (h & 63);
    return &tt_tracing()->returned_to[h >> 6];
}
_Static_assert(sizeof((struct tracing *)0)->returned_to * 8 == 1 << 20, "a bit for each hash");

static void note_return(uint64_t pc) {
    uint64_t bit, *word = return_point(pc, &bit);
    if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)) __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

static bool is_return_point(uint64_t pc) {
    uint64_t bit, *word = return_point(pc, &bit);
    return __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

/* The words that the block has in each context (abi/count.h). */
static void lay_words(struct ip_tr_block *t, const struct ublock *in) {
    uint16_t n = (uint16_t)(1 + sides_of(in));
    if (t->where && ip_trace_begins(t->pc)) t->active_word = n++;
    bool links = false, calls = false;
    if (t->end == IP_TR_CALL || (t->end == IP_TR_CALLI && in->u[in->n_u - 1].op == U_CALLI)) {
        calls = true;
        links = t->end == IP_TR_CALLI || ip_trace_function(t->target) & IP_CT_LINK;
        note_return(t->next);
    } else if (t->end == IP_TR_NEXT && ip_trace_apart(t->next, t->pc)) {
        links = ip_trace_function(t->next) & IP_CT_LINK;
        calls = links || ip_trace_begins(t->next); /* a tail call */
    }
    if (calls) {
        t->site_word = n;
        n += (uint16_t)(IP_CT_SITE_WORDS - !links);
    }
    t->n_words = n;
}

/* Where addresses are computed, what is pushed or popped says where RSP was. */
static void stack_pointer(struct plan *p, struct ip_tr_block *t, int i) {
    const struct ip_tr_access *last = p->n_access ? &p->access[p->n_access - 1] : NULL;
    if (last && last->insn == i && last->flags & IP_TRA_STACK) {
        t->sp_word = last->base;
        t->sp_disp = last->kind == IP_ACC_W ? last->size : 0;
    } else {
        t->sp_word = new_word(p, i, IP_RSP, false);
    }
}

/* Is RCX a constant of the block when its instruction i begins? */
static bool counts_known(const struct ublock *in, int i) {
    uint16_t known = 0;
    for (int k = 0; k < i; k++) known = ip_constants_after(known, &in->insn[k]);
    return known >> IP_RCX & 1;
}

/* Lay the template of the block out in t. */
static void describe(const struct ublock *in, uint64_t flags, struct plan *p, struct ip_tr_block *t) {
    memset(t, 0, sizeof *t);
    for (int r = 0; r < GPRS; r++) p->held[r] = NO_WORD;
    p->n_access = p->n_word = 0;
    p->full = false;
    p->addresses = flags & IP_C_TRACE_ADDRESSES;
    t->pc = in->pc;
    t->key = in->key & IP_KEY_PC;
    t->sp_word = ~0u;
    t->args_word = t->result_word = NO_WORD;
    ends_with(t, in);
    if (flags & IP_C_TRACE_VALUES) arguments(p, t, in);
    for (int i = 0; i < in->n_insn; i++) {
        const struct ip_insn *insn = &in->insn[i];
        struct ip_tr_insn *ti = &p->insn[i];
        memset(ti, 0, sizeof *ti);
        ti->pc = insn->pc;
        ti->target = insn->target;
        ti->len = insn->len;
        ti->kind = kind_of(insn);
        ti->rep = insn->rep;
        ti->rep_words = NO_WORD;
        ti->function = ip_trace_function(insn->pc);
        memcpy(ti->bytes, insn->bytes, sizeof ti->bytes);
        ti->known_times = insn->rep && counts_known(in, i);
        ti->first_access = (uint16_t)p->n_access;
        bool frame = i == in->n_insn - 1 && leaves_frame(t->end) && !(flags & (IP_C_TRACE_NO_FRAMES | IP_C_COUNT));
        if (frame && !p->addresses) {
            t->sp_word = word_of(p, i, IP_RSP);
            t->sp_disp = (int32_t)p->delta[IP_RSP];
        }
        if (flags & IP_C_TRACE_DATA) accesses_of(p, insn, i);
        if (frame && p->addresses) stack_pointer(p, t, i);
        repetitions_of(p, insn, i, !(flags & IP_C_COUNT));
        if ((flags & IP_C_TRACE_VALUES) && i == in->n_insn - 1 && t->end == IP_TR_RET)
            t->result_word = new_word(p, i, IP_RAX, false); /* what functions return */
        registers_change(p, insn);
        ti->n_words = (uint32_t)p->n_word;
    }
    t->function = p->insn[0].function;
    t->n_insns = (uint16_t)in->n_insn;
    t->n_accesses = (uint16_t)p->n_access;
    t->n_words = (uint16_t)p->n_word;
    place(t, flags & IP_C_COUNT);
    if (flags & IP_C_COUNT) lay_words(t, in);
    uint8_t *to = (uint8_t *)(t + 1);
    memcpy(to, p->insn, (size_t)in->n_insn * sizeof p->insn[0]);
    to += (size_t)in->n_insn * sizeof p->insn[0];
    memcpy(to, p->access, (size_t)p->n_access * sizeof p->access[0]);
    to += (size_t)p->n_access * sizeof p->access[0];
    t->bytes = (uint32_t)(to - (uint8_t *)t);
}

/* ---- Stage 3 ----------------------------------------------------------------------------------------------------- */

static bool same_address(const struct uaddr *a, const struct uaddr *b) {
    return a->base == b->base && a->index == b->index && a->scale == b->scale && a->addr32 == b->addr32 &&
           a->disp == b->disp && a->rip_target == b->rip_target;
}

/* The uop of the same instruction that stores this address already, and could do so once more; or NULL. */
static struct uinstr *twin(struct ublock *out, int insn, const struct uaddr *address) {
    for (int k = out->n_u - 1; k >= 0 && out->u[k].op == U_RECADDR && out->u[k].insn == insn; k--)
        if (!out->u[k].set && same_address(&out->u[k].m, address)) return &out->u[k];
    return NULL;
}

static void store_words(struct ublock *out, const struct plan *p, int insn, bool after, uint32_t bytes) {
    bool asked = false; /* these words lie one after the other */
    for (int k = 0; k < p->n_word; k++) {
        const struct word *w = &p->word[k];
        uint32_t place = bytes - 8u * (1 + (uint32_t)k);
        if (w->insn != insn || w->after != after) continue;
        if (w->reg == BY_RUNTIME) {
            if (!asked) ub_add(out, U_RECSOME, insn)->imm = place;
            asked = true;
            continue;
        }
        bool is_address = w->reg == IP_REG_NONE;
        struct uinstr *u = is_address ? twin(out, insn, &w->address) : NULL;
        if (u) {
            u->set = place;
            continue;
        }
        bool is_flag = w->reg == ZERO_FLAG;
        u = ub_add(out, is_address ? U_RECADDR : is_flag ? U_RECZF : U_RECWORD, insn);
        u->imm = place;
        if (is_address)
            u->m = w->address;
        else if (!is_flag)
            u->m.base = w->reg;
    }
}

/* The high half of a run's head. */
static uint32_t completed(const struct ip_tr_block *t, uint32_t n_insns) {
    const struct ip_tr_insn *insn = (const struct ip_tr_insn *)(t + 1);
    return (uint32_t)t->n_words << 24 | insn[n_insns - 1].n_words << 16 | n_insns;
}

static bool leaves(const struct ip_tr_block *t, uint64_t key) { return ip_trace_apart(key & IP_KEY_PC, t->pc); }

/* The run is counted in line; t's numbers may be of another making. */
static void count_runs(const struct ublock *in, struct ublock *out, const struct ip_tr_block *t) {
    const struct ip_tr_block *kept = t;
    const uint8_t *area = tt_tracing()->area;
    uint32_t at = out->trace, where = t->where ? t->where : IP_CT_BLOCK | at, word;
    if (area && at) kept = (const struct ip_tr_block *)(area + (at - IP_TRACE_BASE));
    word = kept->first_word;
    bool counts = (at && word + t->n_words <= IP_CT_MAX_WORDS) || !area;
    if (!counts) out->trace = 0;
    if (counts) {
        struct uinstr *head = ub_add(out, U_ARRIVE, 0), *run = ub_add(out, U_RUN, 0);
        head->imm = where;
        run->imm = at;
        run->set = (uint64_t)word << 32 | (uint32_t)t->site_word << 20 | (uint32_t)t->active_word << 8 | t->n_insns;
        if (t->active_word)
            head->kind = RUN_CALLED;
        else if (t->function & IP_CT_LINK && t->end == IP_TR_JMPI)
            head->kind = RUN_LINK;
        else if (t->where && is_return_point(t->pc))
            head->kind = RUN_BACK;
    }
    for (int k = 0; k < in->n_u; k++) {
        const struct uinstr *u = &in->u[k];
        bool repeats = counts && u->op == U_INSN && in->insn[u->insn].rep;
        if (repeats) ub_add(out, U_TURNS, u->insn);
        struct uinstr *copy = ub_add(out, u->op, u->insn);
        *copy = *u;
        if (repeats) ub_add(out, U_TURNED, u->insn)->imm = at;
        if (!counts) continue;
        uint64_t away = (u->op == U_JCC || u->op == U_JMP) && leaves(t, u->imm) ? RUN_LEAVES : 0;
        if (u->op == U_JCC && u->insn != in->n_insn - 1)
            copy->set = (uint64_t)++word << 32 | away | (uint64_t)(in->n_insn - 1 - u->insn);
        else if (u->op == U_JCC || u->op == U_JMP)
            copy->set = away;
    }
}

/* Can nothing be fetched or decoded there?  That is no instruction that runs: the runtime raises a signal, or ends a
 * call that it has made. */
static bool is_nothing(const struct ublock *in) { return in->insn[0].len == 0; }

void ip_trace_pass(const struct ublock *in, struct ublock *out, uint64_t flags) {
    if (is_nothing(in)) {
        for (int k = 0; k < in->n_u; k++) *ub_add(out, in->u[k].op, in->u[k].insn) = in->u[k];
        return;
    }
    struct plan *plan = tt_trace_scratch();
    struct ip_tr_block *t = (struct ip_tr_block *)(plan + 1);
    const uint8_t *area = tt_tracing()->area;
    describe(in, flags, plan, t);
    if (plan->full) {
        out->overflow = true;
        return;
    }
    uint32_t bytes = 8u * (1 + t->n_words), at = ip_trace_keep(t);
    out->trace = at;
    if ((at || !area) && !(flags & IP_C_COUNT)) { /* without an area it is only shown */
        struct uinstr *head = ub_add(out, U_RECORD, 0);
        head->imm = at;
        head->set = (uint64_t)bytes << 32 | completed(t, t->n_insns);
    } else if (flags & IP_C_TRACE_EVENTS) {
        struct uinstr *head = ub_add(out, U_RECORD, 0);
        head->imm = IP_TR_GAP;
        head->set = 8ull << 32;
    }
    if (flags & IP_C_COUNT) {
        count_runs(in, out, t);
        return;
    }
    int begun = -1, last = in->n_insn - 1;
    bool recorded = at || !area;
    for (int k = 0; k < in->n_u; k++) {
        const struct uinstr *u = &in->u[k];
        while (recorded && !uop_does(u->op, UE_ENTRY) && begun < u->insn) store_words(out, plan, ++begun, false, bytes);
        struct uinstr *copy = ub_add(out, u->op, u->insn);
        *copy = *u;
        if (recorded && u->op == U_INSN) store_words(out, plan, u->insn, true, bytes);
        /* Left there, the run has ended early. */
        if (recorded && u->op == U_JCC && u->insn != last)
            copy->set = (uint64_t)(bytes - 4) << 32 | completed(t, (uint32_t)u->insn + 1);
    }
}

/* Stage 2: which registers and flags are dead where.
 *
 * Dead means: the next access on every path is a whole write.  At every way
 * out of the block all registers count as live; flags too, unless a look at
 * the successor's first instructions shows that it overwrites them
 * (docs/measurements.md, point 4).
 */
#include <string.h>

#include "abi/channel.h"
#include "abi/space.h"
#include "jit/ucode.h"
#include "jit/x86_decode.h"

#define LOOKAHEAD         6
#define LOOKAHEAD_STACK   24 /* instructions, from RSP's rise to the next call */
#define LINKAGE_ALIGNMENT 8  /* of the entries of .plt.got; those of the others are 16 bytes */
#define NOWHERE           1  /* aligned to nothing */
#define PUSH_IMM32        0x68

/* Flags that are overwritten for certain.  Those that the manual calls
 * undefined after these instructions keep their value on some CPUs, and what a
 * program finds in them must be what it would find natively. */
static uint32_t fl_kill(const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_DIV:
    case IP_MN_IDIV: return 0;
    case IP_MN_MUL:
    case IP_MN_IMUL: return in->fl_kill & (IP_FL_CF | IP_FL_OF);
    case IP_MN_BSF:
    case IP_MN_BSR: return in->fl_kill & IP_FL_ZF;
    case IP_MN_BT:
    case IP_MN_BTS:
    case IP_MN_BTR:
    case IP_MN_BTC:
    case IP_MN_ROL:
    case IP_MN_ROR:
    case IP_MN_RCL:
    case IP_MN_RCR: return in->fl_kill & IP_FL_CF;
    case IP_MN_LZCNT:
    case IP_MN_TZCNT: return in->fl_kill & (IP_FL_CF | IP_FL_ZF);
    case IP_MN_SHL:
    case IP_MN_SAL:
    case IP_MN_SHR:
    case IP_MN_SAR:
    case IP_MN_SHLD:
    case IP_MN_SHRD: return in->fl_kill & ~(uint32_t)(IP_FL_AF | IP_FL_OF);
    case IP_MN_ANDN:
    case IP_MN_BEXTR:
    case IP_MN_BLSI:
    case IP_MN_BLSMSK:
    case IP_MN_BLSR:
    case IP_MN_BZHI: return in->fl_kill & (IP_FL_CF | IP_FL_ZF | IP_FL_OF);
    default: return in->fl_kill;
    }
}

/* Code that this block may depend on: when it changes, the block is dropped. */
static bool may_rely_on(const struct ip_code_reader *rd, const struct ublock *b, uint64_t pc) {
    uint64_t page = pc & ~4095ull;
    if (((pc + 14) & ~4095ull) != page) return false;
    for (int i = 0; i < b->n_pages; i++)
        if (b->pages[i] == page) return !b->checked;
    return rd->is_stable && rd->is_stable(rd->ctx, page);
}

/* An entry of a procedure linkage table, which begins at an address: what it leads to is a function, or the dynamic
 * linker on the way to one. Neither asks for the caller's flags, and the linker does not keep them (System V ABI, AMD64
 * supplement, 3.2.1 and 5.2). */
static bool is_linkage(const struct ip_insn *in, uint64_t start) {
    return in->flow == IP_F_JMPI && in->mem.present && in->mem.base == IP_REG_RIP && start % LINKAGE_ALIGNMENT == 0;
}

static bool leads_through_linkage(const struct ublock *b) {
    int at = b->n_insn - 1, first = at && b->insn[at - 1].mnem == IP_MN_ENDBR64 ? at - 1 : at;
    bool is_start = !first || b->insn[first - 1].flow == IP_F_JMP;
    return is_start && is_linkage(&b->insn[at], b->insn[first].pc);
}

/* Does the second half of an entry begin there, which pushes a number for the dynamic linker? */
static bool asks_linker(const uint8_t code[5]) {
    static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
    return code[memcmp(code, endbr64, sizeof endbr64) ? 0 : 4] == PUSH_IMM32;
}

/* Where the jump at the block's end, of a linkage table's entry, leads now: most often it will be there. 0 where no
 * immediate reaches.  The dynamic linker is asked once: then the block is made anew, if it is the entry and no more. */
static uint64_t guess_linkage(const struct ip_code_reader *rd, const struct ublock *b, const struct ip_jit_opts *o) {
    const struct ip_insn *in = &b->insn[b->n_insn - 1];
    uint64_t to;
    uint8_t code[5];
    if (!rd->peek || !rd->peek(rd->ctx, in->mem.rip_target, &to, sizeof to) || to > INT32_MAX ||
        !rd->peek(rd->ctx, to, code, sizeof code))
        return 0;
    if (!asks_linker(code)) return to;
    bool whole = b->n_insn == 1 || (b->n_insn == 2 && b->insn[0].mnem == IP_MN_ENDBR64);
    return whole && !b->has_nr && !o->count_blocks ? to | JMPI_UNBOUND : 0;
}

/* The instruction at pc, by whose bytes this translation may go: its length, or 0. */
static int look_ahead(const struct ip_code_reader *rd, const struct ublock *b, uint64_t pc, struct ip_insn *in) {
    uint8_t buf[16];
    if (!may_rely_on(rd, b, pc) || (rd->is_bound && rd->is_bound(rd->ctx, pc))) return 0;
    int avail = rd->read(rd->ctx, pc, buf, 15);
    int len = avail > 0 ? ip_decode(buf, (size_t)avail, pc, in) : 0;
    return len > 0 ? len : 0;
}

/* 1 if some arithmetic flag may be read before it is overwritten at pc. */
static int flags_live_at(const struct ip_code_reader *rd, const struct ublock *b, uint64_t pc) {
    uint32_t open = IP_FL_ARITH;
    uint64_t start = pc; /* of what a call or jump leads to */
    for (int n = 0; n < LOOKAHEAD; n++) {
        struct ip_insn in;
        int len = look_ahead(rd, b, pc, &in);
        if (!len) return 1;
        if (in.fl_read & open) return 1;
        open &= ~fl_kill(&in);
        if (!open) return 0;
        if (is_linkage(&in, start)) return 0;
        if (in.flow == IP_F_JMP || in.flow == IP_F_CALL)
            pc = start = in.target;
        else if (in.flow == IP_F_NEXT)
            pc += (uint64_t)len;
        else
            return 1;
        if (in.flow == IP_F_NEXT && in.mnem != IP_MN_ENDBR64) start = NOWHERE;
    }
    return 1;
}

/* RSP rises before pc by so much, and what it gave back is within the red zone. Does the code step down over it again,
 * and come to a call, or read there, without having stored anything in the new frame? Then it still counts on what is
 * there: compilers pass an aggregate by value twice, with a test in between, and store it once. What comes after is
 * a guess, which costs time only. */
static bool takes_back(const struct ip_code_reader *rd, const struct ublock *b, uint64_t pc, int64_t rise, bool side) {
    int64_t down = 0;
    for (int n = 0; n < LOOKAHEAD_STACK; n++) {
        struct ip_insn in;
        int64_t step;
        int len = look_ahead(rd, b, pc, &in);
        if (!len) return false;
        if (in.flow == IP_F_CALL || in.flow == IP_F_CALLI) return down != 0;
        if (in.flow == IP_F_JCC && !side && !down && takes_back(rd, b, in.target, rise, true)) return true;
        if (in.flow != IP_F_NEXT && in.flow != IP_F_JMP && in.flow != IP_F_JCC) return false;
        if (!ip_rsp_step(&in, &step) || step > 0 || in.mnem == IP_MN_PUSH) return false;
        down -= step;
        if (in.mem.present && in.mem.base == IP_RSP && !(in.mem.access & IP_ACC_ADDR)) {
            if (in.mem.access & IP_ACC_W) return false;
            if (down && in.mem.disp < down && in.mem.disp >= down - rise) return true;
        }
        pc = in.flow == IP_F_JMP ? in.target : pc + (uint64_t)len;
    }
    return false;
}

static void find_taken_back(struct ublock *b, const struct ip_code_reader *rd) {
    int64_t step;
    for (int i = 0; i < b->n_insn; i++) {
        const struct ip_insn *in = &b->insn[i];
        if (in->mnem != IP_MN_ADD && in->mnem != IP_MN_LEA) continue;
        if (!ip_rsp_step(in, &step) || step <= 0 || step > RED_ZONE) continue;
        if (takes_back(rd, b, in->pc + in->len, step, false)) b->taken_back |= 1ull << i;
    }
}

/* Instructions of every CPU that fault by their memory operand only. */
static bool is_plain(const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_ADC:
    case IP_MN_ADD:
    case IP_MN_AND:
    case IP_MN_BSWAP:
    case IP_MN_BT:
    case IP_MN_CDQ:
    case IP_MN_CDQE:
    case IP_MN_CMP:
    case IP_MN_CQO:
    case IP_MN_CWDE:
    case IP_MN_DEC:
    case IP_MN_ENDBR64:
    case IP_MN_IMUL:
    case IP_MN_INC:
    case IP_MN_JMP:
    case IP_MN_LEA:
    case IP_MN_MOV:
    case IP_MN_MOVSX:
    case IP_MN_MOVSXD:
    case IP_MN_MOVZX:
    case IP_MN_MUL:
    case IP_MN_NEG:
    case IP_MN_NOP:
    case IP_MN_NOT:
    case IP_MN_OR:
    case IP_MN_ROL:
    case IP_MN_ROR:
    case IP_MN_SAR:
    case IP_MN_SBB:
    case IP_MN_SHL:
    case IP_MN_SHR:
    case IP_MN_SUB:
    case IP_MN_TEST:
    case IP_MN_XCHG:
    case IP_MN_XOR: return true;
    default: return in->cc != 0xff; /* jcc, setcc, cmovcc */
    }
}

/* May the handler of its fault see the flags before it? */
static bool may_fault(const struct ip_insn *in) {
    if (!is_plain(in) || (in->mem.present && in->mem.access != IP_ACC_ADDR)) return true;
    for (int k = 0; k < in->n_ops; k++)
        if (in->ops[k].kind == IP_OP_SEG || in->ops[k].kind == IP_OP_CR || in->ops[k].kind == IP_OP_DR) return true;
    return false;
}

/* Does nothing but set flags.  What nobody reads of them is then meant for the handler of a fault: stc, a load that may
 * fault, clc, and the way back from the handler asks for the carry.  Compilers leave no such instruction where its
 * flags are dead. */
static bool sets_flags_only(const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_BT:
    case IP_MN_CMP:
    case IP_MN_TEST: return !in->mem.present; /* else it may be there for its access */
    case IP_MN_CLC:
    case IP_MN_CMC:
    case IP_MN_SAHF:
    case IP_MN_STC: return true;
    default: return false;
    }
}

static void keep_flags_of(struct ublock *b, int i) {
    uint32_t open = b->insn[i].fl_write & IP_FL_ARITH;
    for (int k = i + 1; k <= b->n_insn && open; k++) {
        b->fl_live_before[k] = true;
        if (k < b->n_insn) open &= ~fl_kill(&b->insn[k]);
    }
}

/* Is the jump at the block's end to be compared with what it leads to now?  Who counts or records jumps sees them
 * taken; a block of one instruction comes back. */
static bool is_guessed(const struct ublock *b, const struct ip_jit_opts *o) {
    const struct uinstr *last = &b->u[b->n_u - 1];
    return last->op == U_JMPI && !last->via_t && !(b->key & IP_KEY_ONE) &&
           !(o->flags & (IP_C_NO_OPT | IP_C_EXACT | IP_C_TRACE | IP_C_COUNT | IP_C_SINGLE_STEP)) &&
           leads_through_linkage(b);
}

void ip_stage2_optimise(struct ublock *b, const struct ip_code_reader *rd, const struct ip_jit_opts *o) {
    int n = b->n_insn;
    uint16_t live = 0xffff;
    uint32_t flags = IP_FL_ARITH;
    bool optimise = !(o->flags & IP_C_NO_OPT), exact = o->flags & IP_C_EXACT;

    struct uinstr *last = b->n_u ? &b->u[b->n_u - 1] : NULL;
    /* Nobody asks for flags at the block's end when nothing is added to it. */
    const struct ip_tool_pass *pass = ip_tool_pass(o);
    bool instrumented = pass && pass->instrument && !(o->flags & IP_C_NO_INSTR);
    if (optimise && !exact && instrumented && last) {
        bool direct = last->op == U_JMP || last->op == U_CALL;
        bool counts = o->flags & IP_C_COUNT; /* the stub of an entry that is counted (em_linked) takes flags for live */
        if (direct ? !flags_live_at(rd, b, last->imm & IP_KEY_PC) : !counts && leads_through_linkage(b)) flags = 0;
    }
    b->taken_back = 0;
    if (instrumented && o->flags & IP_C_SHADOW) find_taken_back(b, rd);
    if (last && is_guessed(b, o) && (last->imm = guess_linkage(rd, b, o))) flags = 0;
    b->dead_before[n] = 0;
    b->fl_live_before[n] = flags != 0;
    for (int i = n - 1; i >= 0; i--) {
        const struct ip_insn *in = &b->insn[i];
        if (in->flow != IP_F_NEXT && in->flow != IP_F_JMP && in->flow != IP_F_PRIV) {
            live = 0xffff;
            /* A side exit leaves with every flag; the branch reads some anyway. */
            bool ends = (in->flow == IP_F_CALL || in->flow == IP_F_JMPI) && last && last->insn == i;
            if (!ends) flags = IP_FL_ARITH;
        }
        if (sets_flags_only(in) && !(flags & in->fl_write)) keep_flags_of(b, i);
        live = (uint16_t)((live & ~in->gpr_kill) | in->gpr_read);
        flags = (flags & ~fl_kill(in)) | (in->fl_read & IP_FL_ARITH);
        if (!optimise) live = 0xffff;
        if (!optimise || (exact && may_fault(in))) flags = IP_FL_ARITH;
        b->dead_before[i] = (uint16_t)(~live & ~(1u << IP_RSP));
        b->fl_live_before[i] = flags != 0;
    }
    for (int k = 0; k < b->n_u; k++) {
        struct uinstr *u = &b->u[k];
        u->dead = b->dead_before[u->insn];
        u->fl_live = b->fl_live_before[u->insn];
        bool side = u->op == U_JCC && u->insn != n - 1; /* the last one has no count to correct */
        if (side && o->flags & IP_C_COUNT && optimise && !exact) u->fl_lost = !flags_live_at(rd, b, u->imm & IP_KEY_PC);
    }
}

/* Watchpoints: does the instruction that is about to run access what a debugger watches?
 *
 * Blocks that are made while there are watchpoints ask here before each access.  One that hits runs alone, in a block
 * of its own, and the thread stops behind it, as with debug registers; so the number and length of watched ranges cost
 * nothing.  The elements of a gather or a scatter are not looked at: their addresses are in vector registers.
 */
#include "runtime/core/core.h"
#include "runtime/debug/debug.h"
#include "x86_mnem.h"

static u64 hit(u64 at, u64 size, u32 access) {
    u64 kinds = (access & IP_ACC_R ? IP_DBG_ON_READ : 0) | (access & IP_ACC_W ? IP_DBG_ON_WRITE : 0);
    u64 end = at + size;
    if (end < at) end = ~0ull;
    for (u32 i = 0; i < rt.chan->debug_n_watched && i < IP_DBG_RANGES; i++) {
        const struct ip_debug_range *r = &rt.chan->debug_watched[i];
        if (at < r->hi && end > r->lo && (r->kinds & kinds)) return at > r->lo ? at : r->lo;
    }
    return 0;
}

static bool in_bit_string(const struct ip_insn *in) {
    bool tests = in->mnem == IP_MN_BT || in->mnem == IP_MN_BTS || in->mnem == IP_MN_BTR || in->mnem == IP_MN_BTC;
    return tests && in->n_ops > 1 && in->ops[1].kind == IP_OP_GPR;
}

static u64 explicit_address(const struct tstate *ts, const struct ip_insn *in) {
    const struct ip_mem *m = &in->mem;
    u64 at = m->base == IP_REG_RIP ? m->rip_target : (u64)m->disp;
    if (m->base < 16) at += ts->gpr[m->base];
    if (m->index < 16) at += ts->gpr[m->index] * m->scale;
    if (in_bit_string(in)) {
        u32 bits = in->ops[1].size * 8;
        i64 index = (i64)(ts->gpr[in->ops[1].reg] << (64 - bits)) >> (64 - bits);
        at += (u64)((index >> 3) & -(i64)in->ops[1].size);
    }
    if (m->addr32) at = (u32)at;
    return at + rt_seg_base(ts, m->seg);
}

static u64 implicit_address(const struct tstate *ts, const struct ip_insn *in, const struct ip_operand *op) {
    u64 at = ts->gpr[op->reg];
    if (op->reg == IP_RSP) return op->access & IP_ACC_R ? at : at - op->size;
    if (op->reg == IP_RBX) at += (u8)ts->gpr[IP_RAX]; /* xlat */
    if (in->mem.addr32) at = (u32)at;
    return at + (op->reg == IP_RSI || op->reg == IP_RBX ? rt_seg_base(ts, in->mem.seg) : 0);
}

/* The access of the next element, and *all: that of all that are left. */
static u64 implicit_hit(const struct tstate *ts, const struct ip_insn *in, const struct ip_operand *op, bool *all) {
    u64 at = implicit_address(ts, in, op), size = op->size ? op->size : 1;
    u64 found = hit(at, size, op->access);
    u64 count = in->mem.addr32 ? (u32)ts->gpr[IP_RCX] : ts->gpr[IP_RCX];
    if (found || !in->rep || count < 2 || count > (1ull << 47) / size) return found;
    u64 first = ts->rflags & IP_FL_DF ? at - (count - 1) * size : at;
    *all |= hit(first, count * size, op->access) != 0;
    return 0;
}

static u64 accessed(const struct tstate *ts, const struct ip_insn *in, bool *all) {
    u64 found = 0;
    u32 stack = in->flow == IP_F_CALL || in->flow == IP_F_CALLI ? IP_ACC_W : in->flow == IP_F_RET ? IP_ACC_R : 0;
    if (in->rep && !(in->mem.addr32 ? (u32)ts->gpr[IP_RCX] : ts->gpr[IP_RCX])) return 0;
    if (in->mem.present && !(in->mem.access & IP_ACC_ADDR) && !in->mem.vsib)
        found = hit(explicit_address(ts, in), in->mem.size ? in->mem.size : 1, in->mem.access);
    for (u32 i = 0; i < in->n_ops && !found; i++)
        if (in->ops[i].kind == IP_OP_MEM_IMPL) {
            found = implicit_hit(ts, in, &in->ops[i], all);
            if (in->ops[i].reg == IP_RSP) stack = 0;
        }
    if (!found && stack) found = hit(ts->gpr[IP_RSP] - (stack == IP_ACC_W ? 8 : 0), 8, stack);
    return found;
}

bool rt_debug_accesses(struct tstate *ts, const struct ip_insn *in) {
    struct rt_thread *th = rt_th(ts);
    bool all = false;
    if (!(rt.chan->debug & IP_DBG_WATCH) || !debug_is_followed(ts)) return false;
    u64 found = accessed(ts, in, &all);
    if (!found && !all) return false;
    th->debug_hit = found;
    th->debug_turn = !found; /* an element before the one that is watched */
    th->debug_done = 0;
    th->debug_past = th->debug_pc = in->pc;
    ts->pc = in->pc | IP_KEY_NOREDIR;
    return true;
}

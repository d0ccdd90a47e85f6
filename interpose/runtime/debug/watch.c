/* Watchpoints: does the instruction that is about to run access what a debugger watches?
 *
 * Blocks that are made while there are watchpoints ask here before each access.  One that hits runs alone, in a block
 * of its own, and the thread stops behind it, as with debug registers; so the number and length of watched ranges cost
 * nothing.  What a system call accesses is told behind it (syscalls/watched.c).
 */
#include "abi/inline/line.h"
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
    if (ip_clears_line(in)) return ip_line_of(in, at, rt_seg_base(ts, in->mem.seg));
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

/* ---- elements by vector registers --------------------------------------------------------------- */

static u64 element(const u8 *v, u32 size, u32 i) {
    u64 value = 0;
    memcpy(&value, v + (u64)i * size, size);
    return value;
}

/* A vector register's 64 bytes, out of the components that hold its parts. */
static void vector(const struct ip_debug_state *d, u32 reg, u8 *out) {
    memset(out, 0, 64);
    if (reg >= 16) {
        if (d->at[7]) memcpy(out, d->xsave + d->at[7] + 64 * (reg - 16), 64);
        return;
    }
    memcpy(out, d->xsave + 160 + 16 * reg, 16);
    if (d->at[2]) memcpy(out + 16, d->xsave + d->at[2] + 16 * reg, 16);
    if (d->at[6]) memcpy(out + 32, d->xsave + d->at[6] + 32 * reg, 32);
}

/* The registers, where a thread that stops shows them; it has no request under way. */
static const struct ip_debug_state *vectors(struct tstate *ts) {
    struct ip_debug_state *d = (struct ip_debug_state *)(void *)rt_slot(ts)->data;
    debug_show_vectors(d);
    return d;
}

/* Size of the indices; else they are as wide as elements. */
static u32 index_size(const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_VPGATHERQD:
    case IP_MN_VPGATHERQQ:
    case IP_MN_VGATHERQPS:
    case IP_MN_VGATHERQPD:
    case IP_MN_VPSCATTERQD:
    case IP_MN_VPSCATTERQQ:
    case IP_MN_VSCATTERQPS:
    case IP_MN_VSCATTERQPD: return 8;
    default: return 4;
    }
}

static u32 element_size(const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_VPGATHERDQ:
    case IP_MN_VPGATHERQQ:
    case IP_MN_VGATHERDPD:
    case IP_MN_VGATHERQPD:
    case IP_MN_VPSCATTERDQ:
    case IP_MN_VPSCATTERQQ:
    case IP_MN_VSCATTERDPD:
    case IP_MN_VSCATTERQPD:
    case IP_MN_VPMASKMOVQ:
    case IP_MN_VMASKMOVPD: return 8;
    default: return 4;
    }
}

/* A gather or scatter, or the elements of it that are still to come. */
static u64 sparse_hit(struct tstate *ts, const struct ip_insn *in) {
    const struct ip_mem *m = &in->mem;
    const struct ip_debug_state *d = vectors(ts);
    u32 size = element_size(in), is = index_size(in);
    bool loads = in->ops[0].kind != IP_OP_MEM, evex = in->enc == IP_ENC_EVEX;
    u32 n = in->ops[loads ? 0 : 1].size / size;
    if (m->vsib / is < n) n = m->vsib / is;
    u8 indices[64], mask[64];
    u64 on = 0, found = 0;
    vector(d, m->index, indices);
    if (evex && d->at[5]) memcpy(&on, d->xsave + d->at[5] + 8 * in->evex_k, 8);
    if (!evex) vector(d, in->ops[2].reg, mask);
    for (u32 i = 0; i < n && !found; i++) {
        if (evex ? !(on >> i & 1) : !(mask[(i + 1) * size - 1] >> 7)) continue;
        u64 index = element(indices, is, i);
        if (is == 4) index = (u64)(i64)(int)index;
        u64 at = (u64)m->disp + (m->base < 16 ? ts->gpr[m->base] : 0) + index * m->scale;
        if (m->addr32) at = (u32)at;
        found = hit(at + rt_seg_base(ts, m->seg), size, loads ? IP_ACC_R : IP_ACC_W);
    }
    return found;
}

static bool is_masked_move(const struct ip_insn *in) {
    return in->mnem == IP_MN_VMASKMOVPS || in->mnem == IP_MN_VMASKMOVPD || in->mnem == IP_MN_VPMASKMOVD ||
           in->mnem == IP_MN_VPMASKMOVQ;
}

/* Of a masked move the elements that the mask selects: the top bits of the second operand. */
static u64 masked_hit(struct tstate *ts, const struct ip_insn *in) {
    u64 at = explicit_address(ts, in), found = hit(at, in->mem.size, in->mem.access);
    if (!found) return 0;
    u32 size = element_size(in);
    u8 mask[64];
    vector(vectors(ts), in->ops[1].reg, mask);
    found = 0;
    for (u32 i = 0; i < in->mem.size / size && !found; i++)
        if (mask[(i + 1) * size - 1] >> 7) found = hit(at + i * size, size, in->mem.access);
    return found;
}

static u64 explicit_hit(struct tstate *ts, const struct ip_insn *in) {
    if (in->mem.vsib) return sparse_hit(ts, in);
    if (is_masked_move(in)) return masked_hit(ts, in);
    return hit(explicit_address(ts, in), in->mem.size ? in->mem.size : 1, in->mem.access);
}

static u64 accessed(struct tstate *ts, const struct ip_insn *in, bool *all) {
    u64 found = 0;
    u32 stack = in->flow == IP_F_CALL || in->flow == IP_F_CALLI ? IP_ACC_W : in->flow == IP_F_RET ? IP_ACC_R : 0;
    if (in->rep && !(in->mem.addr32 ? (u32)ts->gpr[IP_RCX] : ts->gpr[IP_RCX])) return 0;
    if (in->mem.present && !(in->mem.access & IP_ACC_ADDR)) found = explicit_hit(ts, in);
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

void rt_debug_touched(struct tstate *ts, u64 at, u64 size, u32 access) {
    struct rt_thread *th = rt_th(ts);
    if (th->debug_hit || !size || !debug_is_followed(ts)) return;
    th->debug_hit = hit(at, size, access);
    if (th->debug_hit) th->debug_done = 1;
}

/* Accesses of which each run says anew whether there are any (IP_TRA_MAYBE): their addresses are found here, before the
 * instruction runs, and stored as its words. */
#include "abi/inline/line.h"
#include "abi/inline/sparse.h"
#include "abi/inline/state.h"
#include "runtime/base/cpu.h"
#include "runtime/base/vectors.h"
#include "trace/trace.h"

/* What an element's index is added to. */
static u64 base_of(const struct tstate *ts, const struct ip_insn *in) {
    return (u64)in->mem.disp + (in->mem.base < 16 ? ts->gpr[in->mem.base] : 0);
}

/* The elements that take part.  Before AVX-512 the top bit of each of a vector's elements says so. */
static u64 chosen(const struct ip_insn *in, unsigned n) {
    u64 on = 0;
    if (in->enc == IP_ENC_EVEX) return rt_mask(in->evex_k);
    u8 mask[64];
    rt_vector(mask, in->ops[2].reg);
    for (unsigned i = 0; i < n; i++) on |= (u64)(mask[(i + 1) * in->mem.size - 1] >> 7) << i;
    return on;
}

static void elements(const struct tstate *ts, const struct ip_insn *in, u64 *to) {
    u8 indices[64];
    unsigned n = ip_n_elements(in), size = ip_index_size(in);
    u64 base = base_of(ts, in), on = chosen(in, n);
    rt_vector(indices, in->mem.index);
    for (unsigned i = 0; i < n; i++) {
        i64 index = 0;
        memcpy(&index, indices + i * size, size);
        if (size == 4) index = (int)index;
        u64 at = base + (u64)index * in->mem.scale;
        if (in->mem.addr32) at = (u32)at;
        to[i] = on >> i & 1 ? at + rt_seg_base(ts, in->mem.seg) : IP_TR_NOWHERE;
    }
}

/* The components that a run saves or restores, and how they lie. */
struct state {
    u64 asked;  /* by EDX:EAX */
    u64 moved;  /* of these, those that are there to be restored; all that are saved */
    u64 packed; /* components of an area in the compacted format, else 0 */
};

static struct state state_of(const struct tstate *ts, const struct ip_insn *in, u64 area) {
    struct state s = {.asked = (ts->gpr[IP_RDX] << 32 | (u32)ts->gpr[IP_RAX]) & rt_cpu()->xcr0};
    const u64 compacted = 1ull << 63;
    s.moved = s.asked;
    if (ip_compacts(in)) s.packed = compacted | s.asked;
    if (!ip_restores(in)) return s;
    u64 header[2] = {0}; /* XSTATE_BV, XCOMP_BV; if they cannot be read, the instruction faults */
    rt_copy_from(header, area + IP_XS_HEADER, sizeof header);
    s.moved &= header[0];
    if (header[1] & compacted) s.packed = header[1];
    return s;
}

static bool is_accessed(const struct ip_insn *in, const struct state *s, enum ip_state_part part) {
    switch (part) {
    case IP_XP_OLD_HEADER: return !ip_restores(in) && !ip_compacts(in);
    case IP_XP_X87_CONTROL:
    case IP_XP_X87_STACK: return s->moved & 1;
    case IP_XP_MXCSR: return s->packed ? s->moved & 2 : s->asked & 6; /* AVX has it, too */
    case IP_XP_XMM: return s->moved & 2;
    default: return true;
    }
}

static void state_parts(const struct tstate *ts, const struct ip_insn *in, u64 *to) {
    u64 area = base_of(ts, in);
    if (in->mem.base == IP_REG_RIP) area = in->mem.rip_target;
    if (in->mem.index < 16) area += ts->gpr[in->mem.index] * in->mem.scale;
    if (in->mem.addr32) area = (u32)area;
    area += rt_seg_base(ts, in->mem.seg);
    struct state s = state_of(ts, in, area);
    for (u32 part = 0; part < IP_XP_COMPONENTS; part++)
        *to++ = is_accessed(in, &s, part) ? area + ip_state_part_at(part) : IP_TR_NOWHERE;
    u64 end = IP_XS_EXTENDED;
    for (u64 left = rt_cpu()->xcr0 >> 2 << 2; left; left &= left - 1) {
        u32 number = (u32)__builtin_ctzll(left);
        const struct rt_cpu_state *c = &rt_cpu()->state[number];
        u64 offset = c->offset;
        if (s.packed) {
            offset = c->aligned ? RT_ROUND_UP(end, 64) : end;
            if (s.packed >> number & 1) end = offset + c->size;
        }
        *to++ = s.moved >> number & 1 ? area + offset : IP_TR_NOWHERE;
    }
}

void tr_some(const struct tstate *ts, const struct ip_exit *x) {
    const struct ip_insn *in = (const struct ip_insn *)x->key;
    u64 *to = (u64 *)(ts->tr_ptr - (x->kind_aux >> 8));
    if (in->mem.vsib)
        elements(ts, in, to);
    else if (ip_clears_line(in))
        *to = ip_line_of(in, ts->gpr[IP_RAX], rt_seg_base(ts, in->mem.seg));
    else
        state_parts(ts, in, to);
}

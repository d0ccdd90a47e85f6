/* Accesses of which each run says anew whether there are any (IP_TRA_MAYBE): their addresses are found here, before the
 * instruction runs, and stored as its words. */
#include "abi/inline/sparse.h"
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
        rt_memcpy(&index, indices + i * size, size);
        if (size == 4) index = (int)index;
        u64 at = base + (u64)index * in->mem.scale;
        if (in->mem.addr32) at = (u32)at;
        to[i] = on >> i & 1 ? at + rt_seg_base(ts, in->mem.seg) : IP_TR_NOWHERE;
    }
}

void tr_some(const struct tstate *ts, const struct ip_exit *x) {
    elements(ts, (const struct ip_insn *)x->key, (u64 *)(ts->tr_ptr - (x->kind_aux >> 8)));
}

/* Stepping over a repeated string instruction.  The trap flag traps after each
 * element; a long one would take longer than the signal that we step for is
 * apart from the next.  So all elements but the last are done here.
 */
#include "runtime/signals/sig.h"

#define FILL_BYTES 4096u

struct string_insn {
    u8 op;   /* 0xa4, 0xa5, 0xaa, 0xab */
    u8 size; /* of an element */
};

/* rep movs or rep stos with whole addresses, as the copy at ip has it. */
static bool decode(u64 ip, struct string_insn *in) {
    const u8 *code = (const u8 *)ip;
    bool rep = false, rexw = false, half = false;
    for (u32 i = 0; i < 4; i++) {
        u8 b = code[i];
        if (b == 0xf3 || b == 0xf2) {
            rep = true;
        } else if (b == 0x66) {
            half = true;
        } else if ((b & 0xf0) == 0x40) {
            rexw = b & 8;
        } else {
            in->op = b;
            in->size = !(b & 1) ? 1 : rexw ? 8 : half ? 2 : 4;
            return rep && (b & 0xfe) != 0xa6 && (b >= 0xa4 && b <= 0xab) && (b & 0xfe) != 0xa8;
        }
    }
    return false;
}

static bool fill(u64 to, u64 bytes, u64 value, u32 size) {
    u8 buffer[FILL_BYTES];
    for (u32 i = 0; i < sizeof buffer; i++) buffer[i] = (u8)(value >> (8 * (i % size)));
    while (bytes > 0) {
        u64 n = bytes < sizeof buffer ? bytes : sizeof buffer;
        if (rt_copy_to(to, buffer, n) != 0) return false;
        to += n;
        bytes -= n;
    }
    return true;
}

void sig_repeat(struct sig_context *mc) {
    struct string_insn in;
    if (mc->cx < 3 || mc->cx > 1ull << 40 || (mc->flags & FL_DF) || !decode(mc->ip, &in)) return;
    u64 n = mc->cx - 1, bytes = n * in.size;
    if ((in.op & 0xfe) == 0xa4) {
        /* What overlaps depends on the order of the single elements. */
        if (mc->di + bytes > mc->si && mc->si + bytes > mc->di) return;
        if (rt_copy_to(mc->di, (const void *)mc->si, bytes) != 0)
            return; /* the element that cannot be accessed faults by itself */
        mc->si += bytes;
    } else if (!fill(mc->di, bytes, mc->ax, in.size)) {
        return;
    }
    mc->di += bytes;
    mc->cx = 1;
}

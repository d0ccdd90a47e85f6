/* Classic BPF as seccomp allows it (seccomp(2), "Filters"; the instruction set:
 * Documentation/networking/filter.rst).  The kernel has verified the program:
 * offsets, jumps and scratch cells are in range. */
#include <linux/bpf_common.h>

#include "runtime/syscalls/seccomp.h"

#define SCRATCH 16

static u32 alu(u32 op, u32 a, u32 b, bool *stop) {
    switch (op) {
    case BPF_ADD: return a + b;
    case BPF_SUB: return a - b;
    case BPF_MUL: return a * b;
    case BPF_DIV:
        *stop = b == 0; /* the program then returns 0 */
        return b ? a / b : 0;
    case BPF_AND: return a & b;
    case BPF_OR: return a | b;
    case BPF_XOR: return a ^ b;
    case BPF_LSH: return a << (b & 31);
    case BPF_RSH: return a >> (b & 31);
    default: return -a; /* BPF_NEG */
    }
}

static bool holds(u32 op, u32 a, u32 b) {
    switch (op) {
    case BPF_JEQ: return a == b;
    case BPF_JGT: return a > b;
    case BPF_JGE: return a >= b;
    default: return a & b; /* BPF_JSET */
    }
}

u32 bpf_run(const struct bpf_insn *prog, u32 len, const struct seccomp_call *call) {
    u32 a = 0, x = 0, cell[SCRATCH] = {0};
    for (u32 pc = 0; pc < len; pc++) {
        const struct bpf_insn *i = &prog[pc];
        u32 k = i->k, operand = BPF_SRC(i->code) == BPF_X ? x : k;
        u32 loaded = 0;
        bool stop = false;
        if (BPF_CLASS(i->code) == BPF_LD || BPF_CLASS(i->code) == BPF_LDX) {
            switch (BPF_MODE(i->code)) {
            case BPF_ABS: memcpy(&loaded, (const u8 *)call + (k & 60), sizeof loaded); break;
            case BPF_LEN: loaded = sizeof *call; break;
            case BPF_MEM: loaded = cell[k % SCRATCH]; break;
            default: loaded = k; break; /* BPF_IMM */
            }
        }
        switch (BPF_CLASS(i->code)) {
        case BPF_LD: a = loaded; break;
        case BPF_LDX: x = loaded; break;
        case BPF_ST: cell[k % SCRATCH] = a; break;
        case BPF_STX: cell[k % SCRATCH] = x; break;
        case BPF_ALU: a = alu(BPF_OP(i->code), a, operand, &stop); break;
        case BPF_JMP:
            if (BPF_OP(i->code) == BPF_JA)
                pc += k;
            else
                pc += holds(BPF_OP(i->code), a, operand) ? i->jt : i->jf;
            break;
        case BPF_RET: return (i->code & 0x18) == 0x10 /* BPF_A */ ? a : k;
        default: /* BPF_MISC: TXA 0x80, TAX 0 */
            if ((i->code & 0xf8) == 0x80)
                a = x;
            else
                x = a;
            break;
        }
        if (stop) return 0;
    }
    return 0;
}

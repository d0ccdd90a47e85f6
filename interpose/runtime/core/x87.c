/* The address of the last x87 instruction, as fxsave, fnstenv and the like store
 * it (CPU manual, "x87 FPU Instruction and Data (Operand) Pointers"): the CPU
 * knows the copy in the code cache, the program must see its own.
 */
#include "abi/inline/pcs.h"
#include "runtime/core/core.h"
#include "runtime/base/rt.h"
#include "runtime/base/ksignal.h"

/* false: not an address in a translation that is still there. */
static bool guest_pc(u64 host, u64 *pc) {
    if (host - IP_CACHE_BASE >= (u64)IP_CACHE_MAX) return false;
    const struct ip_block *b = rt_block_of(host);
    struct ip_point pt;
    if (!b || !rt_point_of(b, host, &pt)) return false;
    *pc = ip_pc_of(rt_pcs, b, pt.guest_off);
    return true;
}

/* The opcode of the guest's instruction as the CPU keeps it: the ModRM byte of the copy may be another one. */
static bool guest_opcode(u64 pc, u16 *opcode) {
    u8 code[16];
    for (u32 i = 0; i < 15; i++) {
        if (rt_copy_from(&code[i], pc + i, 1) != 0) return false;
        if (i > 0 && (code[i - 1] & 0xf8) == 0xd8) {
            *opcode = (u16)((code[i - 1] & 7) << 8 | code[i]);
            return true;
        }
    }
    return false;
}

/* fop: the opcode's two bytes; 0 there means that this CPU did not store it. */
static void fix_guest(u64 at, u32 len, u64 fop) {
    u64 value = 0;
    u16 stored, opcode;
    if (rt_copy_from(&value, at, len) != 0 || !guest_pc(value, &value)) return;
    rt_copy_to(at, &value, len);
    if (rt_copy_from(&stored, fop, 2) == 0 && (stored & 0x7ff) && guest_opcode(value, &opcode)) {
        stored = (u16)((stored & 0xf800) | opcode);
        rt_copy_to(fop, &stored, 2);
    }
}

void rt_x87_image(u8 *image) { fix_guest((u64)image + 8, 8, (u64)image + 6); }

/* The 16-bit layout holds too little of the address: the CPU still has it all,
 * unless the instruction was fnsave, which begins anew. */
static void fix_env16(u64 at) {
    u32 env[7]; /* exceptions are masked already: that was the guest's doing */
    u64 value;
    u16 low;
    __asm__ volatile("fnstenv %0" : "=m"(env));
    value = env[3];
    if (rt_copy_from(&low, at, 2) == 0 && low == (u16)value && guest_pc(value, &value)) rt_copy_to(at, &value, 2);
}

void rt_x87_saved(u64 addr, u32 layout) {
    switch (layout) {
    case IP_X87_FXSAVE: fix_guest(addr + 8, 4, addr + 6); break;
    case IP_X87_FXSAVE64: fix_guest(addr + 8, 8, addr + 6); break;
    case IP_X87_ENV32: fix_guest(addr + 12, 4, addr + 18); break;
    case IP_X87_ENV16: fix_env16(addr + 6); break;
    default: break;
    }
}

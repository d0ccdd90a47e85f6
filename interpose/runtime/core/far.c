/* Far jumps, calls and returns, iret, and whatever names the selectors of SS, FS and GS (CPU manual, "JMP",
 * "CALL", "RET", "IRET", "MOV", "LDS/LES/LFS/LGS/LSS").
 *
 * User code of a 64-bit process has one code segment, so a far transfer either stays in it or faults; which
 * fault it is, the CPU's own view of the selector says (lar).  FS and GS belong to the runtime: the guest's
 * selectors are kept beside its bases, and one is loaded into GS for a moment so that the CPU says what base
 * or which fault comes of it.  SS is loaded, for the fault, and kept, for the kernel sets it at each system call
 * of the runtime's.
 */

#include <asm/unistd.h>

#include "runtime/core/core.h"
#include "runtime/hooks.h"
#include "runtime/base/cpu.h"
#include "runtime/base/rt_asm.h"
#include "runtime/base/ksignal.h"
#include "x86_mnem.h"

/* Flags that iret takes from the stack in user mode. */
#define FL_NT 0x4000ull
#define FL_ID 0x200000ull
/* Words of an iret's frame; a far return's has the first two. */
enum { IRET_IP, IRET_CS, IRET_FLAGS_AT, IRET_SP, IRET_SS };
#define IRET_FLAGS       (IP_FL_ARITH | FL_TF | FL_DF | FL_AC | FL_NT | FL_ID)
#define NULL_SELECTOR(s) (((s) & 0xfffc) == 0)
#define ARCH_SET_GS      0x1001
#define ARCH_GET_GS      0x1004

static bool general_protection(struct tstate *ts, u64 selector) {
    rt_signal_exception(ts, IP_VEC_GP, (u32)selector & 0xfffc);
    return false;
}

/* AMD's CPUs have no far pointers with a 64-bit offset: REX.W makes pushes and pops wide, not the pointer (APM
 * volume 3, "JMP Far"), and take the words of a far return or iret in another order. */
static bool is_amd(void) { return rt_cpu()->amd; }

/* ---- guest memory: what cannot be read or written is the guest's fault to see ---------------------------- */

/* With the guest's alignment check on; an address that is none has its own fault, which comes first. */
static bool misaligned(struct tstate *ts, u64 at, u64 to) {
    if (!(ts->rflags & FL_AC) || !(at & (to - 1)) || !rt_canonical(at)) return false;
    rt_signal_exception(ts, IP_VEC_AC, 0);
    return true;
}

static bool get(struct tstate *ts, void *to, u64 at, u64 n, bool stack) {
    while (rt_copy_from(to, at, n) != 0)
        if (!rt_signal_copied(ts, stack)) return false;
    return true;
}

static bool put(struct tstate *ts, u64 at, const void *from, u64 n, bool stack) {
    if (misaligned(ts, at, n)) return false;
    while (rt_copy_to(at, from, n) != 0)
        if (!rt_signal_copied(ts, stack)) return false;
    return true;
}

/* One word: its alignment is its size. */
static bool get_word(struct tstate *ts, void *to, u64 at, u64 n, bool stack) {
    return !misaligned(ts, at, n) && get(ts, to, at, n, stack);
}

static u64 operand(const struct tstate *ts, const struct ip_mem *m) {
    u64 a = (u64)m->disp;
    if (m->base == IP_REG_RIP) return m->rip_target + rt_seg_base(ts, m->seg);
    if (m->base < 16) a += ts->gpr[m->base];
    if (m->index < 16) a += ts->gpr[m->index] * m->scale;
    if (m->addr32) a = (u32)a;
    return a + rt_seg_base(ts, m->seg);
}

/* An address that is none is a stack fault by RSP or RBP, else a general protection fault. */
static bool on_stack(const struct ip_mem *m) { return !m->seg && (m->base == IP_RSP || m->base == IP_RBP); }

/* A far pointer, read as two words. */
static bool get_pointer(struct tstate *ts, const struct ip_mem *m, u32 offset, u8 pointer[10]) {
    u64 at = operand(ts, m);
    return !misaligned(ts, at, offset) && get(ts, pointer, at, offset + 2, on_stack(m));
}

static void set_sp(struct tstate *ts, u64 sp) {
    u64 old = ts->gpr[IP_RSP];
    ts->gpr[IP_RSP] = sp;
    rt_hook_stack_changed(ts, old, sp);
}

/* ---- selectors -------------------------------------------------------------------------------------------- */

#define FAR_TRANSFER "far transfer at"

/* May control go to this code segment (by: how)?  If not, the fault has been raised. */
static bool code_segment(struct tstate *ts, u64 selector, bool back, const char *by) {
    u32 rights = 0;
    bool known;
    selector &= 0xffff;
    if (NULL_SELECTOR(selector)) return general_protection(ts, 0);
    if (back && (selector & 3) != 3) return general_protection(ts, selector);
    __asm__("lar %2, %0" : "+r"(rights), "=@ccz"(known) : "r"((u32)selector));
    /* Of a code or data segment, and of code? */
    if (!known || !(rights & 1u << 12) || !(rights & 1u << 11)) return general_protection(ts, selector);
    if (!(rights & 1u << 15)) {
        rt_signal_exception(ts, IP_VEC_NP, (u32)selector & 0xfffc);
        return false;
    }
    if (!(rights & 1u << 21))
        rt_die("the program goes to 32-bit code (selector 0x%lx, %s 0x%lx), which is not supported", selector, by,
               rt_pc(ts->pc));
    return true;
}

u16 rt_ss(struct tstate *ts) {
    u16 ss = rt_th(ts)->ss;
    if (!ss) __asm__("mov %%ss, %0" : "=r"(ss));
    return ss;
}

static bool load_ss(struct tstate *ts, u64 selector) {
    if (rt_load_ss((u32)selector & 0xffff) != 0) {
        rt_signal_copied(ts, false);
        return false;
    }
    rt_th(ts)->ss = (u16)selector;
    return true;
}

static u16 selector_of(struct tstate *ts, u32 seg) {
    return seg == IP_SEG_SS ? rt_ss(ts) : ts->client_sel[seg - IP_SEG_FS];
}

static bool load_segment(struct tstate *ts, u32 seg, u64 selector) {
    if (seg == IP_SEG_SS) return load_ss(ts, selector);
    u64 *base = seg == IP_SEG_FS ? &ts->client_fs : &ts->client_gs, ours = 0, loaded = 0;
    sys2(__NR_arch_prctl, ARCH_GET_GS, (long)&ours);
    sys2(__NR_arch_prctl, ARCH_SET_GS, (long)*base); /* some CPUs keep it under a null selector */
    bool ok = rt_load_gs((u32)selector & 0xffff) == 0;
    sys2(__NR_arch_prctl, ARCH_GET_GS, (long)&loaded);
    rt_load_gs(0);
    sys2(__NR_arch_prctl, ARCH_SET_GS, (long)ours);
    if (!ok) {
        rt_signal_copied(ts, false);
        return false;
    }
    *base = loaded;
    ts->client_sel[seg - IP_SEG_FS] = (u16)selector;
    return true;
}

/* ---- far transfers ---------------------------------------------------------------------------------------- */

static void jump_or_call(struct tstate *ts, const struct ip_insn *in, bool call) {
    u32 size = in->opsize, offset = size == 8 && is_amd() ? 4 : size;
    u64 sp = ts->gpr[IP_RSP], target = 0;
    u8 pointer[10];
    u16 selector;
    if (!get_pointer(ts, &in->mem, offset, pointer)) return;
    memcpy(&target, pointer, offset);
    memcpy(&selector, pointer + offset, 2);
    if (!code_segment(ts, selector, false, FAR_TRANSFER)) return;
    if (call) {
        u64 words[2] = {ts->pc + in->len, rt_cs()};
        if (!put(ts, sp - size, &words[1], size, true) || !put(ts, sp - 2 * size, &words[0], size, true)) return;
    }
    if (!rt_canonical(target)) {
        general_protection(ts, 0);
        return;
    }
    if (call) set_sp(ts, sp - 2 * size);
    if (call && (rt.flags & IP_C_SHADOW)) rt_hook_written(sp - 2 * size, 2 * size);
    ts->pc = target;
}

/* Near branches to 16 bits of a target, which AMD's CPUs know (x86_decode.c). */
static bool is_near(const struct ip_insn *in) {
    return in->mnem == IP_MN_RET ||
           ((in->mnem == IP_MN_JMP || in->mnem == IP_MN_CALL) && (in->opcode != 0xff || !(in->modrm >> 3 & 1)));
}

static void short_branch(struct tstate *ts, const struct ip_insn *in) {
    u64 sp = ts->gpr[IP_RSP], target = in->target;
    u16 next = (u16)(ts->pc + in->len);
    bool read = in->mnem == IP_MN_RET ? get_word(ts, &target, sp, 2, true)
                : in->mem.present     ? get_word(ts, &target, operand(ts, &in->mem), 2, on_stack(&in->mem))
                                      : true;
    if (!read) return;
    if (in->opcode == 0xff && !in->mem.present) target = ts->gpr[in->ops[0].reg];
    if (in->mnem == IP_MN_CALL) {
        if (!put(ts, sp - 2, &next, 2, true)) return;
        set_sp(ts, sp - 2);
        rt_hook_written(sp - 2, 2);
    } else if (in->mnem == IP_MN_RET) {
        set_sp(ts, sp + 2 + (in->imm_len ? (u64)in->imm & 0xffff : 0));
    }
    ts->pc = target & 0xffff;
}

/* The words from the stack of a far return or iret, in that order: a fault shows the first.  Of a selector, AMD's
 * CPUs read the whole word, Intel's two bytes. */
static bool pop(struct tstate *ts, u64 *words, const u8 *order, u32 n, u32 size) {
    u64 sp = ts->gpr[IP_RSP];
    for (u32 i = 0; i < n; i++) {
        u32 k = order[i];
        bool selector = k == IRET_CS || k == IRET_SS;
        words[k] = 0;
        if (!get_word(ts, &words[k], sp + (u64)k * size, selector && !is_amd() ? 2 : size, true)) return false;
    }
    return true;
}

static void far_return(struct tstate *ts, const struct ip_insn *in) {
    static const u8 order[] = {IRET_CS, IRET_IP};
    u32 bytes = in->imm_len ? (u32)in->imm & 0xffff : 0;
    u64 w[2], outer = 0;
    if (!pop(ts, w, order, 2, in->opsize)) return;
    if (rt_cpu()->outer_first && (w[IRET_CS] & 3) != 3 && !NULL_SELECTOR(w[IRET_CS]) &&
        !get_word(ts, &outer, ts->gpr[IP_RSP] + 3ull * in->opsize, in->opsize, true))
        return;
    if (!code_segment(ts, w[IRET_CS], true, FAR_TRANSFER)) return;
    if (!rt_canonical(w[IRET_IP])) {
        general_protection(ts, 0);
        return;
    }
    set_sp(ts, ts->gpr[IP_RSP] + 2ull * in->opsize + bytes);
    ts->pc = w[IRET_IP];
}

static void interrupt_return(struct tstate *ts, const struct ip_insn *in) {
    static const u8 amd[] = {IRET_FLAGS_AT, IRET_IP, IRET_CS, IRET_SP, IRET_SS};
    static const u8 zen4[] = {IRET_FLAGS_AT, IRET_IP, IRET_CS, IRET_SS, IRET_SP};
    static const u8 intel[] = {IRET_FLAGS_AT, IRET_CS, IRET_IP, IRET_SS, IRET_SP};
    const u8 *order = rt_cpu()->outer_first ? zen4 : is_amd() ? amd : intel;
    u32 first = is_amd() ? 5 : 3; /* before the first look at a selector */
    u64 w[5];
    if (ts->rflags & FL_NT) {
        general_protection(ts, 0);
        return;
    }
    if (!pop(ts, w, order, first, in->opsize) || !code_segment(ts, w[IRET_CS], true, FAR_TRANSFER)) return;
    if (!pop(ts, w, order + first, 5 - first, in->opsize)) return;
    if (!load_ss(ts, w[IRET_SS])) return;
    if (!rt_canonical(w[IRET_IP])) {
        general_protection(ts, 0);
        return;
    }
    u64 taken = in->opsize == 2 ? IRET_FLAGS & 0xffff : IRET_FLAGS;
    u64 flags = w[IRET_FLAGS_AT];
    ts->rflags = (ts->rflags & ~taken) | (flags & taken & ~FL_TF);
    rt_trap_flag_load(ts, (flags & FL_TF) != 0);
    set_sp(ts, w[IRET_SP]);
    ts->pc = w[IRET_IP];
}

void rt_segments_returned(struct tstate *ts, u16 cs, u16 ss) {
    if (cs == rt_cs() || code_segment(ts, cs, true, "rt_sigreturn to")) (void)load_ss(ts, ss);
}

/* ---- SS, FS and GS -------------------------------------------------------------------------------------------- */

static void set_register(struct tstate *ts, u32 reg, u32 size, u64 value) {
    if (size == 2)
        ts->gpr[reg] = (ts->gpr[reg] & ~0xffffull) | (value & 0xffff);
    else
        ts->gpr[reg] = size == 4 ? (u32)value : value;
}

static void move(struct tstate *ts, const struct ip_insn *in) {
    const struct ip_operand *to = &in->ops[0], *from = &in->ops[1];
    u16 selector = to->kind == IP_OP_SEG ? 0 : selector_of(ts, from->reg);
    if (to->kind == IP_OP_SEG && from->kind == IP_OP_GPR)
        selector = (u16)ts->gpr[from->reg];
    else if (to->kind == IP_OP_SEG && !get_word(ts, &selector, operand(ts, &in->mem), 2, on_stack(&in->mem)))
        return;
    if (to->kind == IP_OP_SEG) {
        if (!load_segment(ts, to->reg, selector)) return;
    } else if (to->kind == IP_OP_GPR) {
        set_register(ts, to->reg, in->opsize, selector);
    } else if (!put(ts, operand(ts, &in->mem), &selector, 2, on_stack(&in->mem))) {
        return;
    }
    ts->pc += in->len;
}

static void push_pop(struct tstate *ts, const struct ip_insn *in) {
    u64 sp = ts->gpr[IP_RSP], word = 0;
    u32 seg = in->ops[0].reg, size = in->opsize == 2 ? 2 : 8;
    if (in->mnem == IP_MN_PUSH) {
        word = selector_of(ts, seg);
        if (!put(ts, sp - size, &word, size, true)) return;
        set_sp(ts, sp - size);
        rt_hook_written(sp - size, size);
    } else {
        /* Of a selector Intel's CPUs read two bytes. */
        if (!get_word(ts, &word, sp, is_amd() ? size : 2, true) || !load_segment(ts, seg, word)) return;
        set_sp(ts, sp + size);
    }
    ts->pc += in->len;
}

static void load_pointer(struct tstate *ts, const struct ip_insn *in) {
    u32 offset = in->opsize == 8 && is_amd() ? 4 : in->opsize;
    u8 pointer[10];
    u64 value = 0;
    u16 selector;
    if (!get_pointer(ts, &in->mem, offset, pointer)) return;
    memcpy(&value, pointer, offset);
    memcpy(&selector, pointer + offset, 2);
    u32 seg = in->mnem == IP_MN_LFS ? IP_SEG_FS : in->mnem == IP_MN_LGS ? IP_SEG_GS : IP_SEG_SS;
    if (!load_segment(ts, seg, selector)) return;
    set_register(ts, in->ops[0].reg, in->opsize, value);
    ts->pc += in->len;
}

void rt_far(struct tstate *ts, const struct ip_insn *in) {
    ts->pc = in->pc;
    rt_hook_instruction(ts, in);
    ts->pc = in->pc;
    if (is_near(in)) {
        short_branch(ts, in);
        return;
    }
    switch (in->mnem) {
    case IP_MN_RETF: far_return(ts, in); return;
    case IP_MN_JMP:
    case IP_MN_CALL: jump_or_call(ts, in, in->mnem == IP_MN_CALL); return;
    case IP_MN_MOV: move(ts, in); return;
    case IP_MN_PUSH:
    case IP_MN_POP: push_pop(ts, in); return;
    case IP_MN_LSS:
    case IP_MN_LFS:
    case IP_MN_LGS: load_pointer(ts, in); return;
    default: interrupt_return(ts, in); return;
    }
}

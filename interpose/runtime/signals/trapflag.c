/* The guest's trap flag: one instruction, then SIGTRAP (SDM volume 3, 17.3.1.4
 * and 6.9: the trap comes after the instruction that began with the flag set).
 *
 * The flag is never set in translated code, where it would trap after each of
 * our instructions; rt_thread.trap_flag holds it, and settle() then enters
 * blocks of one instruction that come back here.  A popf that sets it does set
 * it on the host: the trap after its last host instruction says so
 * (sig_host_handler).
 *
 * A repeated string instruction traps after each element (SDM volume 3, 17.3.1.4),
 * so it runs with a count of 1; the true count is kept aside meanwhile.  One that
 * compares shows the flags of each element on AMD's CPUs; on Intel's, those from
 * before it until it ends (volume 2, REP).
 */
#include "runtime/base/cpu.h"
#include "runtime/seam.h"
#include "runtime/signals/sig.h"

#define OP_PUSHF     0x9c
#define OP_POPF      0x9d
#define OP_IRET      0xcf
#define MAX_PREFIXES 14

/* First opcode byte at pc; 0 if it cannot be read.  *rep: the repeat prefix or 0; *addr32: 67 is there. */
static u8 opcode(u64 pc, u8 *rep, u8 *addr32) {
    u8 byte;
    *rep = *addr32 = 0;
    for (u32 i = 0; i < MAX_PREFIXES && rt_copy_from(&byte, pc + i, 1) == 0; i++) {
        bool prefix = byte == IP_PREFIX_OPSIZE || byte == IP_PREFIX_ADDRSIZE || byte == IP_PREFIX_LOCK ||
                      byte == IP_PREFIX_REPNE || byte == IP_PREFIX_REP || byte == IP_PREFIX_FS ||
                      byte == IP_PREFIX_GS || (byte & 0xe7) == 0x26 || (byte & 0xf0) == 0x40;
        if (!prefix) return byte;
        if (byte == IP_PREFIX_REPNE || byte == IP_PREFIX_REP) *rep = byte;
        *addr32 |= byte == IP_PREFIX_ADDRSIZE;
    }
    return 0;
}

static bool top_has_flag(struct tstate *ts) {
    u8 byte = 0;
    rt_copy_from(&byte, ts->gpr[IP_RSP] + 1, 1);
    return byte & (FL_TF >> 8);
}

/* movs, cmps, stos, lods, scas */
static bool is_string(u8 op) { return (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf); }
bool sig_repeats(u64 pc) {
    u8 rep, addr32;
    return is_string(opcode(pc, &rep, &addr32)) && rep;
}

static bool compares(u8 op) { return (op & 0xf6) == 0xa6; }

/* After an element of which the count allows more: does the instruction go on? */
static bool repeats(const struct tstate *ts, u8 op, u8 rep) {
    return !compares(op) || !(ts->rflags & IP_FL_ZF) == (rep == IP_PREFIX_REPNE);
}

void sig_trap_flag_count(struct tstate *ts, bool executed) {
    struct sig_priv *p = sig_priv(ts);
    u64 count = p->step_count;
    if (count == 0) return;
    p->step_count = 0;
    ts->gpr[IP_RCX] = !executed ? count : p->step_addr32 ? (u32)(count - 1) : count - 1;
    if (!executed || !repeats(ts, p->step_op, p->step_rep)) return;
    ts->pc = p->step_key;
    if (rt_cpu()->intel) ts->rflags = (ts->rflags & ~IP_FL_ARITH) | (p->step_flags & IP_FL_ARITH);
}

void rt_trap_flag_enter(struct tstate *ts) {
    struct sig_priv *p = sig_priv(ts);
    sig_trap_flag_count(ts, false); /* it turned to tracking before it ran */
    p->step_op = opcode(ts->pc & IP_KEY_PC, &p->step_rep, &p->step_addr32);
    p->step_keeps = p->step_op != OP_POPF || top_has_flag(ts);
    p->step_armed = 1;
    p->step_key = ts->pc;
    u64 count = p->step_addr32 ? (u32)ts->gpr[IP_RCX] : ts->gpr[IP_RCX];
    if (p->step_rep && is_string(p->step_op) && count > 1) {
        p->step_count = ts->gpr[IP_RCX];
        p->step_flags = ts->rflags;
        ts->gpr[IP_RCX] = 1;
    }
}

bool rt_trap_flag_loaded(struct tstate *ts) {
    u8 rep, addr32, op = opcode(ts->pc & IP_KEY_PC, &rep, &addr32);
    return op == OP_POPF || op == OP_IRET;
}

void rt_trap_flag_after(struct tstate *ts, bool executed) {
    struct sig_priv *p = sig_priv(ts);
    if (!p->step_armed) return; /* set by the instruction that just ended */
    p->step_armed = 0;
    bool to_track = !(p->step_key & IP_KEY_TRACK) && (ts->pc & IP_KEY_TRACK) && !((ts->pc ^ p->step_key) & IP_KEY_PC);
    sig_trap_flag_count(ts, executed && !to_track);
    if (!executed || to_track) return;
    if (p->step_op == OP_PUSHF && !rt_th(ts)->debug_forced) {
        u8 byte;
        if (rt_copy_from(&byte, ts->gpr[IP_RSP] + 1, 1) == 0) {
            byte |= FL_TF >> 8;
            rt_copy_to(ts->gpr[IP_RSP] + 1, &byte, 1);
        }
    }
    rt_th(ts)->trap_flag = p->step_keeps;
    if (rt_debug_stepped(ts)) return;
    rt_signal_raise(ts, SIG_TRAP, 2 /* TRAP_TRACE */, rt_pc(ts->pc));
}

bool rt_trap_flag_was_loaded(struct tstate *ts) {
    return sig_priv(ts)->step_op == OP_POPF || sig_priv(ts)->step_op == OP_IRET;
}

void rt_trap_flag_load(struct tstate *ts, bool set) { sig_priv(ts)->step_keeps = rt_th(ts)->trap_flag = set; }

/* Far returns, iret, and loads of FS and GS (CPU manual, "RET", "IRET", "MOV").
 * User code of a 64-bit process has one code and one data segment, so all that
 * can come of these is their effect within them, or a general protection fault.
 */
#include "rt.h"
#include "sig.h"

#define USER_CS 0x33ull
#define USER_DS 0x2bull
/* Flags that iret takes from the stack in user mode. */
#define IRET_FLAGS (IP_FL_ARITH | FL_TF | FL_DF | FL_AC | 0x4000ull /* NT */ | 0x200000ull /* ID */)

static void fault(struct tstate *ts, u64 selector) { rt_signal_exception(ts, 13, (u32)selector & 0xfffc); }

static bool pop(struct tstate *ts, u64 *words, u32 n, u32 size) {
    u64 sp = ts->gpr[IP_RSP];
    for (u32 i = 0; i < n; i++) {
        words[i] = 0;
        if (rt_copy_from(&words[i], sp + (u64)i * size, size) != 0) {
            rt_signal_raise(ts, SIG_SEGV, SEGV_NO_MAP, sp + (u64)i * size);
            return false;
        }
    }
    return true;
}

static void set_sp(struct tstate *ts, u64 sp) {
    u64 old = ts->gpr[IP_RSP];
    ts->gpr[IP_RSP] = sp;
    if (rt.flags & IP_C_SHADOW)
        rt_stack_changed(ts, old, sp);
}

static bool load_segment(struct tstate *ts, u32 seg, u64 selector) {
    selector &= 0xffff;
    if (selector > 3 && selector != USER_DS) {
        fault(ts, selector);
        return false;
    }
    *(seg == 4 ? &ts->client_fs : &ts->client_gs) = 0;
    return true;
}

void rt_far(struct tstate *ts, u64 pc, u32 aux) {
    u32 size = aux >> 4 & 15, seg = aux >> 8 & 15;
    u64 w[5];
    ts->pc = pc;
    switch (aux & 15) {
    case IP_FAR_RETF:
        if (!pop(ts, w, 2, size))
            return;
        if ((w[1] & 0xffff) != USER_CS) {
            fault(ts, w[1]);
            return;
        }
        set_sp(ts, ts->gpr[IP_RSP] + 2ull * size + (aux >> 8));
        ts->pc = w[0];
        return;
    case IP_FAR_IRET:
        if (!pop(ts, w, 5, size))
            return;
        if ((w[1] & 0xffff) != USER_CS || (w[4] & 0xffff) != USER_DS) {
            fault(ts, (w[1] & 0xffff) != USER_CS ? w[1] : w[4]);
            return;
        }
        ts->rflags = (ts->rflags & ~IRET_FLAGS) | (w[2] & IRET_FLAGS & ~FL_TF);
        sig_priv(ts)->step_keeps = sig_priv(ts)->trap_flag = (w[2] & FL_TF) != 0;
        set_sp(ts, w[3]);
        ts->pc = w[0];
        return;
    case IP_FAR_POP:
        if (!pop(ts, w, 1, size == 2 ? 2 : 8) || !load_segment(ts, seg, w[0]))
            return;
        set_sp(ts, ts->gpr[IP_RSP] + (size == 2 ? 2 : 8));
        ts->pc = pc + (aux >> 16);
        return;
    default:
        if (load_segment(ts, seg, ts->gpr[aux >> 12 & 15]))
            ts->pc = pc + (aux >> 16);
        return;
    }
}

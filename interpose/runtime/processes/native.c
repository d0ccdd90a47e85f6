/* --stop-after: the rest of the run on the real CPU.  The guest's state becomes the machine's; its memory already is.
 */
#include <asm/unistd.h>
#include <linux/prctl.h>

#include "runtime/memory/memory.h"
#include "runtime/base/rt.h"
#include "runtime/signals/sig.h"

RT_NORETURN void rt_run_native(struct tstate *ts);
RT_NORETURN void rt_native_jump(struct tstate *ts, const u64 regs[17]); /* native_asm.S */

/* Guest code was mapped without PROT_EXEC: give it what the guest asked for. */
static void restore_protections(void) {
    for (u32 i = 0; i < rt_nsegs; i++)
        if (rt_segs[i].prot)
            sys3(__NR_mprotect, (long)rt_segs[i].lo, (long)(rt_segs[i].hi - rt_segs[i].lo), rt_segs[i].prot);
}

/* The strings of argv or envp lie one behind the other; false if the guest put others there. */
static bool strings(u64 *words, __u64 *lo, __u64 *hi) {
    u64 s, first = 0, end = 0;
    for (; rt_copy_from(&s, *words, 8) == 0 && s; *words += 8) {
        if (s < rt.auxv_sp || s >= rt.stack_top - 8) return false; /* a null word ends the stack */
        if (!first) first = s;
        end = s + rt_strlen((const char *)s) + 1;
    }
    *words += 8;
    *lo = first;
    *hi = end;
    return first <= end;
}

/* The kernel answers brk from now on: tell it where the guest's heap is, and keep the
 * names that /proc shows.  A kernel that refuses leaves malloc to its mmap. */
static void restore_brk(struct tstate *ts) {
    struct prctl_mm_map m;
    u64 words = rt.auxv_sp + 8, rdi = ts->gpr[IP_RDI];
    memset(&m, 0, sizeof m);
    if (!strings(&words, &m.arg_start, &m.arg_end) || !strings(&words, &m.env_start, &m.env_end)) return;
    ts->gpr[IP_RDI] = 0;
    m.brk = (u64)rt_sys_brk(ts);
    ts->gpr[IP_RDI] = rdi;
    m.start_brk = rt.brk_start;
    m.start_code = m.start_data = rt.entry;
    m.end_code = m.end_data = rt.image_end;
    m.start_stack = rt.auxv_sp;
    m.exe_fd = (u32)-1;
    sys5(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, (long)&m, sizeof m, 0);
}

void rt_run_native(struct tstate *ts) {
    u64 regs[18];
    for (int i = 0; i < 16; i++) regs[i] = ts->gpr[i];
    regs[16] = rt_pc(ts->pc);
    regs[17] = ts->rflags;
    restore_protections();
    restore_brk(ts);
    for (int s = 1; s <= SIG_MAX; s++) {
        struct sig_action a = sig_table_get(ts, s);
        if (s != SIG_KILL && s != SIG_STOP) sig_kernel_action(s, &a, NULL);
    }
    sig_kernel_mask(rt_th(ts)->sigmask);
    sys2(__NR_arch_prctl, 0x1001, (long)ts->client_gs);
    rt_native_jump(ts, regs);
}

/* The countdown ended at a block's entry: first at that of the last block, which runs
 * like any other, then at that of its successor. */
void rt_stop_after(struct tstate *ts) {
    static u64 last;
    static bool known;
    if (!known) {
        known = true;
        last = ts->pc;
        ts->bbcount = 2;
        return;
    }
    struct ip_slot *s = rt_slot(ts);
    s->a[0] = last;
    s->a[1] = ts->pc;
    s->len = 0;
    rt_request_python(ts, IP_R_STOPPED);
    if (rt_th(ts)->pending) rt_signal_deliver(ts);
    rt_run_native(ts);
}

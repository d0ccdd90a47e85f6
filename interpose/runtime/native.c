/* --stop-after: the rest of the run on the real CPU (2002 design, "Design
 * decisions").  The guest's state becomes the machine's; its memory already is. */
#include <asm/unistd.h>

#include "rt.h"
#include "sig.h"

RT_NORETURN void rt_run_native(struct tstate *ts);
RT_NORETURN void rt_native_jump(struct tstate *ts, const u64 regs[17]); /* native_asm.S */

/* Guest code was mapped without PROT_EXEC: give it what the guest asked for. */
static void restore_protections(void) {
    for (u32 i = 0; i < rt_nsegs; i++)
        if (rt_segs[i].prot)
            sys3(__NR_mprotect, (long)rt_segs[i].lo, (long)(rt_segs[i].hi - rt_segs[i].lo), rt_segs[i].prot);
}

void rt_run_native(struct tstate *ts) {
    u64 regs[18];
    for (int i = 0; i < 16; i++) regs[i] = ts->gpr[i];
    regs[16] = ts->pc & IP_KEY_PC;
    regs[17] = ts->rflags;
    restore_protections();
    for (int s = 1; s <= SIG_MAX; s++) {
        struct sig_action a = sig_table_get(ts, s);
        if (s != SIG_KILL && s != SIG_STOP) sig_kernel_action(s, &a, NULL);
    }
    sig_kernel_mask(rt_th(ts)->sigmask);
    sys2(__NR_arch_prctl, 0x1001, (long)ts->client_gs);
    rt_native_jump(ts, regs);
}

/* arch_prctl and prctl: the segment bases are emulated, the rest goes to the
 * kernel unless it would take the process away from the runtime or from the
 * supervisor.  membarrier: without what it does for rseq. */
#include <linux/membarrier.h>
#include <linux/prctl.h>

#include "runtime/processes/processes.h"
#include "runtime/hooks.h"
#include "runtime/syscalls/seccomp.h"
#include "runtime/signals/sig.h"

#define ARCH_SET_GS         0x1001
#define ARCH_SET_FS         0x1002
#define ARCH_GET_FS         0x1003
#define ARCH_GET_GS         0x1004
#define ARCH_REQ_XCOMP_PERM 0x1023
#define ARCH_SHSTK_ENABLE   0x5001
#define ARCH_SHSTK_UNLOCK   0x5004
#define PR_SYSCALL_DISPATCH 59
#define READ_IMPLIES_EXEC_  0x0400000u
#define MDWE_SET            65
#define MDWE_GET            66
#define THREAD_NAME         16 /* one more than the kernel keeps */

static long put_base(u64 to, u64 base) {
    if (rt_copy_to(to, &base, sizeof base) != 0) return -EFAULT;
    rt_hook_written(to, sizeof base);
    return 0;
}

/* Larger signal frames: the kernel refuses while a thread has an alternate stack that is too small for them.  It
 * knows the runtime's only, so this thread's gets the size of the smallest of the program's meanwhile. */
static long request_state(struct tstate *ts, u64 component) {
    struct rt_thread *th = rt_th(ts);
    u64 least = th->sigstack_size;
    for (u32 i = 0; i < thread_count(); i++) {
        const struct rt_thread *t = rt_th(rt_thread_by_index(i));
        if (t->in_use == TH_LIVE && t->pid == th->pid && t->altstack_size && t->altstack_size < least)
            least = t->altstack_size;
    }
    sig_block_everything();
    sig_host_altstack(th, least);
    long r = sys2(__NR_arch_prctl, ARCH_REQ_XCOMP_PERM, (long)component);
    sig_host_altstack(th, th->sigstack_size);
    sig_unblock_everything(th);
    if (r == 0) sig_xstate_init();
    return r;
}

long rt_sys_arch_prctl(struct tstate *ts) {
    u32 code = (u32)ts->gpr[IP_RDI];
    u64 arg = ts->gpr[IP_RSI];
    switch (code) {
    case ARCH_SET_FS:
    case ARCH_SET_GS:
        if (arg >= rt_task_end) return -EPERM;
        *(code == ARCH_SET_FS ? &ts->client_fs : &ts->client_gs) = arg;
        ts->client_sel[code == ARCH_SET_GS] = 0;
        return 0;
    case ARCH_GET_FS: return put_base(arg, ts->client_fs);
    case ARCH_GET_GS: return put_base(arg, ts->client_gs);
    case ARCH_SHSTK_ENABLE ... ARCH_SHSTK_UNLOCK:
        return -EOPNOTSUPP; /* translated calls and returns have no shadow stack */
    case ARCH_REQ_XCOMP_PERM: return request_state(ts, arg);
    default: return sys2(__NR_arch_prctl, (long)code, (long)arg);
    }
}

/* As a kernel without rseq: who is offered barriers for it (tcmalloc) counts on rseq itself. */
long rt_sys_membarrier(struct tstate *ts) {
    enum { FOR_RSEQ = MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ };
    u32 command = (u32)ts->gpr[IP_RDI];
    if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ || command == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ)
        return -EINVAL;
    long r = sys3(__NR_membarrier, command, (long)ts->gpr[IP_RSI], (long)ts->gpr[IP_RDX]);
    return r > 0 && command == MEMBARRIER_CMD_QUERY ? r & ~(long)FOR_RSEQ : r;
}

/* An exec of a 64-bit program takes READ_IMPLIES_EXEC away, so no program starts with it. */
long rt_sys_personality(struct tstate *ts) {
    u32 persona = (u32)ts->gpr[IP_RDI];
    long r = sys1(__NR_personality, persona);
    if (r >= 0 && persona != 0xffffffffu) rt.read_exec = persona & READ_IMPLIES_EXEC_;
    return r;
}

void rt_find_mdwe(void) { rt.mdwe = sys5(__NR_prctl, MDWE_GET, 0, 0, 0, 0) > 0; }

void rt_find_tsc(struct tstate *ts) {
    u32 mode = PR_TSC_ENABLE;
    sys5(__NR_prctl, PR_GET_TSC, (long)&mode, 0, 0, 0);
    rt_th(ts)->no_tsc = mode == PR_TSC_SIGSEGV;
}

/* Reports name the thread from now on. */
static void named(struct tstate *ts, u64 name) {
    struct ip_slot *s = rt_slot(ts);
    if (rt_th(ts)->vfork_child) return;
    thread_is_named(ts);
    memset(s->data, 0, THREAD_NAME + 1);
    rt_strncpy_from((char *)s->data, name, THREAD_NAME);
    s->data[THREAD_NAME] = 0;
    s->len = THREAD_NAME;
    s->a[0] = ts->tid_guest;
    s->a[1] = IP_THREAD_NAMED;
    s->a[2] = rt_th(ts)->tid;
    rt_request_python(ts, IP_R_THREAD);
}

/* One tracer only, and the supervisor is it: for the guest it is as if its own were named. */
static long tracer(u64 pid) {
    long r = process_name_tracer();         /* without yama there is no such call */
    bool nobody = pid == 0 || pid == ~0ull; /* PR_SET_PTRACER_ANY */
    return r < 0 || nobody ? r : sys2(__NR_kill, (long)pid, 0) == -ESRCH ? -EINVAL : 0;
}

long rt_sys_prctl(struct tstate *ts) {
    const u64 *g = ts->gpr;
    switch ((int)g[IP_RDI]) {
    case PR_PTRACER: return tracer(g[IP_RSI]);
    case PR_SYSCALL_DISPATCH: return userdispatch_prctl(ts, g[IP_RSI], g[IP_RDX], g[IP_R10], g[IP_R8]);
    case PR_SET_SECCOMP: return seccomp_prctl(ts, g[IP_RSI], g[IP_RDX]);
    default: break;
    }
    long r = sys5(__NR_prctl, (long)g[IP_RDI], (long)g[IP_RSI], (long)g[IP_RDX], (long)g[IP_R10], (long)g[IP_R8]);
    if ((int)g[IP_RDI] == MDWE_SET && r == 0)
        rt_find_mdwe(); /* code of the guest is never executable on the host: mm.c applies it */
    if ((int)g[IP_RDI] == PR_SET_TSC && r == 0) rt_find_tsc(ts);
    if ((int)g[IP_RDI] == PR_SET_NAME && r == 0) named(ts, g[IP_RSI]);
    return r;
}

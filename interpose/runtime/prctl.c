/* arch_prctl and prctl: the segment bases are emulated, the rest goes to the
 * kernel unless it would take the process away from the runtime or from the
 * supervisor. */
#include <linux/prctl.h>

#include "sig.h"

#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define ARCH_GET_GS 0x1004
#define ARCH_REQ_XCOMP_PERM 0x1023
#define ARCH_SHSTK_ENABLE 0x5001
#define ARCH_SHSTK_UNLOCK 0x5004
#define TASK_MAX 0x7ffffffff000ull
#define PR_SYSCALL_DISPATCH 59
#define PR_PTRACER 0x59616d61

static long put_base(u64 to, u64 base) {
    if (rt_copy_to(to, &base, sizeof base) != 0)
        return -EFAULT;
    if (rt.flags & IP_C_SHADOW)
        rt_shadow_set(to, sizeof base, RT_SH_DEFINED);
    return 0;
}

long rt_sys_arch_prctl(struct tstate *ts) {
    u32 code = (u32)ts->gpr[IP_RDI];
    u64 arg = ts->gpr[IP_RSI];
    switch (code) {
    case ARCH_SET_FS:
    case ARCH_SET_GS:
        if (arg >= TASK_MAX)
            return -EPERM;
        *(code == ARCH_SET_FS ? &ts->client_fs : &ts->client_gs) = arg;
        ts->client_sel[code == ARCH_SET_GS] = 0;
        return 0;
    case ARCH_GET_FS: return put_base(arg, ts->client_fs);
    case ARCH_GET_GS: return put_base(arg, ts->client_gs);
    case ARCH_SHSTK_ENABLE ... ARCH_SHSTK_UNLOCK:
        return -EOPNOTSUPP; /* translated calls and returns have no shadow stack */
    default: break;
    }
    long r = sys2(__NR_arch_prctl, (long)code, (long)arg);
    if (code == ARCH_REQ_XCOMP_PERM && r == 0)
        sig_xstate_init(); /* signal frames grow */
    return r;
}

static void note(struct tstate *ts, const char *text) {
    struct ip_slot *s = rt_slot(ts);
    s->a[0] = 0;
    s->len = (u32)rt_strlen(text);
    rt_memcpy(s->data, text, s->len);
    rt_request_python(ts, IP_R_MESSAGE);
}

long rt_sys_prctl(struct tstate *ts) {
    const u64 *g = ts->gpr;
    switch ((int)g[IP_RDI]) {
    case PR_PTRACER:
        return 0; /* one tracer only, and the supervisor is it */
    case PR_SYSCALL_DISPATCH:
        return -EINVAL; /* would send the runtime's own calls to the program */
    case PR_SET_SECCOMP:
        note(ts, "the program restricts its system calls (prctl PR_SET_SECCOMP); the runtime needs futex, "
                 "mmap, munmap, mprotect, rt_sigprocmask and rt_sigreturn to go on");
        break;
    default: break;
    }
    return sys5(__NR_prctl, (long)g[IP_RDI], (long)g[IP_RSI], (long)g[IP_RDX], (long)g[IP_R10], (long)g[IP_R8]);
}

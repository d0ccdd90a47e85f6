/* prctl(PR_SET_SYSCALL_USER_DISPATCH): system calls made outside a range of code become
 * SIGSYS while a byte of the thread says so (Documentation/admin-guide/
 * syscall-user-dispatch.rst of the kernel; for programs such as Wine).
 *
 * Answered here alone: the kernel would send the runtime's own calls to the program.
 */
#include <linux/errno.h>

#include "runtime/processes/processes.h"
#include "runtime/syscalls/seccomp.h"
#include "runtime/signals/sig.h"

enum { MODE_OFF, MODE_EXCLUSIVE_ON, MODE_INCLUSIVE_ON };
enum { ALLOW, BLOCK }; /* the selector's values */

#define SYS_USER_DISPATCH_CODE 2
#define SI_KERNEL_CODE         0x80

long userdispatch_prctl(struct tstate *ts, u64 mode, u64 offset, u64 len, u64 selector) {
    struct rt_thread *th = rt_th(ts);
    switch (mode) {
    case MODE_OFF:
        if (offset || len || selector) return -EINVAL;
        break;
    case MODE_EXCLUSIVE_ON:
        if (offset != 0 && offset + len <= offset) return -EINVAL;
        break;
    case MODE_INCLUSIVE_ON:
        if (len == 0 || offset + len <= offset) return -EINVAL;
        offset += len; /* all the rest is allowed */
        len = -len;
        break;
    default: return -EINVAL;
    }
    if (selector >= rt_task_end) return -EFAULT;
    th->dispatch_from = offset;
    th->dispatch_len = len;
    th->dispatch_selector = selector;
    th->user_dispatch = mode != MODE_OFF;
    return 0;
}

bool rt_userdispatch(struct tstate *ts, long nr, u64 next_pc, enum seccomp_abi abi) {
    const struct rt_thread *th = rt_th(ts);
    u8 state = BLOCK;
    if (!th->user_dispatch || (next_pc & IP_KEY_PC) - th->dispatch_from < th->dispatch_len) return false;
    if (th->dispatch_selector) {
        if (rt_copy_from(&state, th->dispatch_selector, 1) != 0) rt_die_by_signal(ts, SIG_SEGV, SI_KERNEL_CODE, 0);
        if (state == ALLOW) return false;
        if (state != BLOCK) rt_die_by_signal(ts, SIG_SYS, SI_KERNEL_CODE, 0);
    }
    seccomp_signal(ts, SYS_USER_DISPATCH_CODE, nr, 0, next_pc, abi);
    return true;
}

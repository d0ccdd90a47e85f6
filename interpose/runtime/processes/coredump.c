/* Core files hold the guest's registers.  The kernel dumps what each thread had
 * when it last came from user mode; so each goes back to its guest pc by a
 * frame and rt_sigreturn: the thread that dies with the signal pending, which
 * ends it before an instruction runs there; the others through a system call
 * instruction at that place, as most of them were in one natively, which here
 * is pause.  Where there is none, one is written in front of the pc while the
 * thread enters it.
 */
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/resource.h>

#include "runtime/seam.h"
#include "runtime/signals/sig.h"

#define CORE_SIGNALS                                                                                                   \
    (SIG_BIT(3) | SIG_SYNC | SIG_BIT(SIG_ABRT) | SIG_BIT(24) /* XCPU */ | SIG_BIT(25) /* XFSZ */ |                     \
     SIG_BIT(31) /* SYS */)
#define TRIES 400

_Static_assert(__builtin_offsetof(struct sig_frame, uc.mc.flags) == 184, "FRAME_FLAGS, signal_asm.S");
void sig_become_guest(const struct sig_frame *frame, u64 fs, u64 gs) RT_NORETURN; /* signal_asm.S */

static u32 posing; /* the parked threads shall go to their places */
struct pose {
    u64 at;     /* address of the system call instruction; 0: none */
    u16 before; /* what it has replaced */
    bool written;
};

bool sig_dumps_core(int sig) {
    u64 limit[2] = {0, 0};
    char pattern[8] = {0};
    if (!(SIG_BIT(sig) & CORE_SIGNALS)) return false;
    sys4(__NR_prlimit64, 0, RLIMIT_CORE, 0, (long)limit);
    if (limit[0] != 0) return true;
    long fd = sys3(__NR_open, (long)"/proc/sys/kernel/core_pattern", 0, 0);
    if (fd >= 0) {
        sys3(__NR_read, fd, (long)pattern, 1);
        sys1(__NR_close, fd);
    }
    return pattern[0] == '|'; /* a program takes it, whatever the limit is: core(5) */
}

/* The page of the pc, executable and, for a byte of ours, writable for a moment. */
static bool open_code(u64 at, int prot) {
    struct rt_seg seg;
    if (!rt_find_seg(at, &seg) || ((prot & PROT_WRITE) && (seg.mflags & 1 /* MAP_SHARED */))) return false;
    u64 lo = RT_ROUND_DOWN(at, RT_PAGE), hi = RT_ROUND_UP(at + 2, RT_PAGE);
    return hi <= seg.hi && sys3(__NR_mprotect, (long)lo, (long)(hi - lo), prot) == 0;
}

/* One thread at a time: two may need the same page. */
static struct pose find_place(struct tstate *ts) {
    u64 pc = rt_pc(ts->pc);
    struct pose p = {0};
    if (rt_copy_from(&p.before, pc, 2) == 0 && p.before == RT_SYSCALL_BYTES) {
        if (open_code(pc, PROT_READ | PROT_EXEC)) p.at = pc;
    } else if (rt_copy_from(&p.before, pc - 2, 2) == 0) {
        u16 insn = RT_SYSCALL_BYTES;
        if (p.before != insn) {
            if (!open_code(pc - 2, PROT_READ | PROT_WRITE) || rt_copy_to(pc - 2, &insn, 2) != 0) return p;
            p.written = true;
        }
        if (open_code(pc - 2, PROT_READ | PROT_EXEC)) p.at = pc - 2;
    }
    return p;
}

void sig_pose(struct tstate *ts) {
    struct sig_priv *p = sig_priv(ts);
    while (!__atomic_load_n(&posing, __ATOMIC_ACQUIRE)) sys4(__NR_futex, (long)&posing, FUTEX_WAIT_PRIVATE, 0, 0);
    while (!__atomic_load_n(&p->pose_at, __ATOMIC_ACQUIRE)) {
        i64 pause[2] = {0, 100000};
        sys2(__NR_nanosleep, (long)pause, 0);
    }
    ts->gpr[IP_RAX] = __NR_pause;
    ts->pc = p->pose_at;
    sig_become_guest(sig_native_frame(ts, ~0ull), ts->client_fs, ts->client_gs);
}

/* In pause, called by an instruction that ends at this address? */
static bool arrived(u32 tid, u64 end) {
    char path[64], text[128] = {0}, want[32];
    rt_snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
    rt_snprintf(want, sizeof want, " 0x%lx\n", end);
    long fd = sys3(__NR_open, (long)path, 0, 0);
    if (fd < 0) return true; /* gone, or nobody may know */
    long n = sys3(__NR_read, fd, (long)text, sizeof text - 1);
    sys1(__NR_close, fd);
    long len = (long)rt_strlen(want);
    return n > len && rt_strncmp(text, "34 ", 3) == 0 && rt_strcmp(text + n - len, want) == 0;
}

static void pose_others(struct tstate *ts) {
    i64 moment[2] = {0, 250000};
    __atomic_store_n(&posing, 1, __ATOMIC_RELEASE);
    sys3(__NR_futex, (long)&posing, FUTEX_WAKE_PRIVATE, 1 << 30);
    for (u32 i = 0; i < thread_count(); i++) {
        struct tstate *o = rt_thread_by_index(i);
        struct rt_thread *t = rt_th(o);
        if (o == ts || !rt_is_thread(o) || !t->tid) continue;
        for (int n = 0; n < TRIES && !__atomic_load_n(&sig_priv(o)->parked, __ATOMIC_ACQUIRE); n++)
            sys2(__NR_nanosleep, (long)moment, 0);
        if (!sig_priv(o)->parked) continue; /* in a call that nothing interrupts: dumped as it is */
        struct pose p = find_place(o);
        if (!p.at) continue;
        __atomic_store_n(&sig_priv(o)->pose_at, p.at, __ATOMIC_RELEASE);
        for (int n = 0; n < TRIES && !arrived(t->tid, p.at + 2); n++) sys2(__NR_nanosleep, (long)moment, 0);
        if (p.written && open_code(p.at, PROT_READ | PROT_WRITE)) {
            rt_copy_to(p.at, &p.before, 2);
            open_code(p.at, PROT_READ | PROT_EXEC);
        }
    }
}

void sig_die_as_guest(struct tstate *ts, int sig, const struct sig_info *info) {
    struct rt_thread *th = rt_th(ts);
    if (!sig_dumps_core(sig)) return;
    if (!th->vfork_child) pose_others(ts);
    if (sys4(__NR_rt_tgsigqueueinfo, th->pid, th->tid, sig, (long)info) != 0) sys3(__NR_tgkill, th->pid, th->tid, sig);
    sig_become_guest(sig_native_frame(ts, ~SIG_BIT(sig)), ts->client_fs, ts->client_gs);
}

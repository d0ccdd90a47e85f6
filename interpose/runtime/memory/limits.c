/* Resource limits that would count the runtime's own memory: RLIMIT_AS and
 * RLIMIT_DATA.  The kernel's are lifted as far as allowed; the guest's are kept
 * here, answered to it, held against its own mappings (getrlimit(2)), and put
 * back before an exec.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/resource.h>

#include "runtime/memory/memory.h"
#include "runtime/hooks.h"
#include "runtime/memory/mm.h"
#include "runtime/syscalls/syscall.h"

#define NO_LIMIT32        0xffffffffu
#define CAP_SYS_RESOURCE_ 24
/* What a process has of its main stack at the start; ours is mapped whole. */
#define STACK_START (132ull << 10)

struct limit {
    u32 which;
    bool lifted; /* the kernel's is not the guest's */
    struct rlimit64 guest, kernel;
};
#define NO_LIMIT {RLIM64_INFINITY, RLIM64_INFINITY}
static struct limit limits[] = {
    {.which = RLIMIT_AS, .guest = NO_LIMIT, .kernel = NO_LIMIT},
    {.which = RLIMIT_DATA, .guest = NO_LIMIT, .kernel = NO_LIMIT},
};
#define N_LIMITS (sizeof limits / sizeof *limits)

static long kernel_limit(u32 which, const struct rlimit64 *new, struct rlimit64 *old) {
    return sys4(__NR_prlimit64, 0, which, (long)new, (long)old);
}

static bool same(const struct rlimit64 *a, const struct rlimit64 *b) {
    return a->rlim_cur == b->rlim_cur && a->rlim_max == b->rlim_max;
}

/* Kernel's limit as high as may be; l->guest is set. */
static void lift(struct limit *l) {
    l->kernel = (struct rlimit64){RLIM64_INFINITY, RLIM64_INFINITY};
    if (!same(&l->guest, &l->kernel) && kernel_limit(l->which, &l->kernel, NULL) < 0) {
        l->kernel.rlim_cur = l->kernel.rlim_max = l->guest.rlim_max;
        if (kernel_limit(l->which, &l->kernel, NULL) < 0) l->kernel = l->guest;
    }
    l->lifted = !same(&l->guest, &l->kernel);
}

void rt_limits_init(void) {
    for (u32 i = 0; i < N_LIMITS; i++)
        if (kernel_limit(limits[i].which, NULL, &limits[i].guest) == 0) lift(&limits[i]);
}

bool rt_guest_limit(u32 which, u64 *cur, u64 *max) {
    for (u32 i = 0; i < N_LIMITS; i++)
        if (limits[i].which == which) {
            *cur = limits[i].guest.rlim_cur, *max = limits[i].guest.rlim_max;
            return true;
        }
    return false;
}

/* A vfork child has its own: the table here is its parent's, too. */
static bool own(const struct rt_thread *th, u32 i) { return th->limits_set >> i & 1; }

static struct rlimit64 *guest_limit(struct rt_thread *th, u32 i) {
    return own(th, i) ? (struct rlimit64 *)th->own_limits[i] : &limits[i].guest;
}

void rt_limits_before_exec(struct rt_thread *th) {
    for (u32 i = 0; i < N_LIMITS; i++)
        if (limits[i].lifted || own(th, i)) kernel_limit(limits[i].which, guest_limit(th, i), NULL);
}

void rt_limits_after_exec(struct rt_thread *th) {
    for (u32 i = 0; i < N_LIMITS; i++)
        if (limits[i].lifted || own(th, i)) lift(&limits[i]);
}

/* An image of ours goes on with the kernel's as they are. */
_Static_assert(sizeof(struct rlimit64) * N_LIMITS == RT_LIMITS_BYTES, "rt.h");
_Static_assert(N_LIMITS == sizeof((struct rt_thread *)0)->own_limits / sizeof(struct rlimit64), "rt.h");

void rt_limits_save(struct rt_thread *th, void *to) {
    for (u32 i = 0; i < N_LIMITS; i++) memcpy((struct rlimit64 *)to + i, guest_limit(th, i), sizeof(struct rlimit64));
}

void rt_limits_restore(const void *from) {
    for (u32 i = 0; i < N_LIMITS; i++) {
        memcpy(&limits[i].guest, (const struct rlimit64 *)from + i, sizeof(struct rlimit64));
        limits[i].lifted = !same(&limits[i].guest, &limits[i].kernel);
    }
}

/* ---- what the guest's mappings count ------------------------------------------------ */

static bool is_data(const struct rt_seg *s) {
    return (s->prot & PROT_WRITE) && !(s->mflags & (MM_SHARED | MM_GROWS)) && s->kind != RT_SEG_STACK;
}

static u64 counted(u32 which) {
    u64 sum = 0;
    for (u32 i = 0; i < rt_nsegs; i++) {
        u64 n = rt_segs[i].mflags & MM_OURS ? 0 : rt_segs[i].hi - rt_segs[i].lo;
        if (rt_segs[i].kind == RT_SEG_STACK && n > STACK_START) n = STACK_START;
        if (which == RLIMIT_AS || is_data(&rt_segs[i])) sum += n;
    }
    return sum;
}

/* ---- room for the shadow of what comes ---------------------------------------------- */

/* Kernel mappings that one of the guest's may need: itself, V and A, pages at their borders. */
#define MAPPINGS_EACH 16
#define LARGE         (1ull << 20)
#define RESERVE       (16ull << 20) /* for tables of ours that grow */

static bool room_for_bytes(u64 n) {
    long p = sys6(__NR_mmap, 0, (long)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p < 0 && p >= -4095) return false;
    sys2(__NR_munmap, p, (long)n);
    return true;
}

/* Every second page protected: as many mappings. */
static bool room_for_mappings(void) {
    u64 n = MAPPINGS_EACH * RT_PAGE;
    long p = sys6(__NR_mmap, 0, (long)n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool ok = p > 0 || p < -4095;
    if (!ok) return false;
    for (u64 at = 0; at < n && ok; at += 2 * RT_PAGE) ok = sys3(__NR_mprotect, p + (long)at, RT_PAGE, PROT_READ) == 0;
    sys2(__NR_munmap, p, (long)n);
    return ok;
}

/* Without it the guest gets ENOMEM, now, while nothing is half done. */
static bool room_for_shadow(u64 more) {
    if (!(rt.flags & IP_C_SHADOW) || more == 0) return true;
    bool limited = more >= LARGE;
    for (u32 i = 0; i < N_LIMITS; i++) limited |= limits[i].kernel.rlim_cur != RLIM64_INFINITY;
    return (!limited || room_for_bytes(more + more + more / 8 + RESERVE)) &&
           (rt_nsegs < MM_MANY_SEGS || room_for_mappings());
}

/* Where no data are allowed at all, the kernel has mappings go by the hard limit: programs that set 0 mean brk. */
static u64 held_against(const struct limit *l) {
    bool none = l->which == RLIMIT_DATA && l->guest.rlim_cur == 0;
    return none ? l->guest.rlim_max : l->guest.rlim_cur;
}

bool mm_within_limits(u64 more, u64 more_data) {
    for (u32 i = 0; i < N_LIMITS; i++) {
        const struct limit *l = &limits[i];
        u64 n = l->which == RLIMIT_AS ? more : more_data, most = held_against(l);
        if (most == RLIM64_INFINITY || n == 0) continue;
        if (n > most || counted(l->which) > most - n) return false;
    }
    return room_for_shadow(more);
}

bool mm_heap_within_limit(u64 size) {
    u64 soft = 0, hard = 0;
    return !rt_guest_limit(RLIMIT_DATA, &soft, &hard) || size <= soft;
}

/* ---- system calls ---------------------------------------------------------------------- */

/* Index of a limit that is kept here; -1: the kernel's. */
static int emulated(u32 which) {
    for (u32 i = 0; i < N_LIMITS; i++)
        if (limits[i].which == which) return (int)i;
    return -1;
}

bool rt_capable(u32 which) {
    struct {
        u32 version;
        int pid;
    } header = {0x20080522, 0};
    struct {
        u32 effective, permitted, inheritable;
    } data[2] = {{0, 0, 0}, {0, 0, 0}};
    return sys2(__NR_capget, (long)&header, (long)data) == 0 && (data[0].effective >> which & 1);
}

static long set(struct tstate *ts, u32 i, const struct rlimit64 *new) {
    struct rt_thread *th = rt_th(ts);
    struct limit *l = &limits[i];
    if (new->rlim_cur > new->rlim_max) return -EINVAL;
    if (new->rlim_max > guest_limit(th, i)->rlim_max && !rt_capable(CAP_SYS_RESOURCE_)) return -EPERM;
    if (th->vfork_child) th->limits_set |= 1u << i;
    *guest_limit(th, i) = *new;
    l->lifted = !same(&l->guest, &l->kernel);
    return 0;
}

static long answer(struct tstate *ts, u32 i, u64 new_at, u64 old_at) {
    struct rlimit64 new = {0, 0}, old = *guest_limit(rt_th(ts), i);
    long r = 0;
    if (new_at) r = rt_copy_from(&new, new_at, sizeof new) != 0 ? -EFAULT : set(ts, i, &new);
    if (r == 0 && old_at && rt_copy_to(old_at, &old, sizeof old) != 0) r = -EFAULT;
    return r;
}

static long to_kernel(struct tstate *ts, long nr) {
    u64 args[6];
    rt_syscall_args(ts, args);
    return sys4(nr, (long)args[0], (long)args[1], (long)args[2], (long)args[3]); /* never waits */
}

long rt_sys_getrlimit(struct tstate *ts) {
    int i = emulated((u32)ts->gpr[IP_RDI]);
    if (i < 0) return to_kernel(ts, __NR_getrlimit);
    return ts->gpr[IP_RSI] ? answer(ts, (u32)i, 0, ts->gpr[IP_RSI]) : -EFAULT;
}

long rt_sys_setrlimit(struct tstate *ts) {
    int i = emulated((u32)ts->gpr[IP_RDI]);
    if (i < 0) return to_kernel(ts, __NR_setrlimit);
    return ts->gpr[IP_RSI] ? answer(ts, (u32)i, ts->gpr[IP_RSI], 0) : -EFAULT;
}

/* Of 32 bits each, of which the highest means none. */
long rt_set_limit32(struct tstate *ts, u32 which, u64 at) {
    u32 words[2];
    if (rt_copy_from(words, at, sizeof words) != 0) return -EFAULT;
    struct rlimit64 new = {words[0] == NO_LIMIT32 ? RLIM64_INFINITY : words[0],
                           words[1] == NO_LIMIT32 ? RLIM64_INFINITY : words[1]};
    int i = emulated(which);
    return i < 0 ? kernel_limit(which, &new, NULL) : set(ts, (u32)i, &new);
}

long rt_get_limit32(struct tstate *ts, u32 which, u64 at, u32 highest) {
    struct rlimit64 old;
    int i = emulated(which);
    long r = 0;
    if (i < 0)
        r = kernel_limit(which, NULL, &old);
    else
        old = *guest_limit(rt_th(ts), (u32)i);
    u32 words[2] = {old.rlim_cur < highest ? (u32)old.rlim_cur : highest,
                    old.rlim_max < highest ? (u32)old.rlim_max : highest};
    if (r == 0 && rt_copy_to(at, words, sizeof words) != 0) r = -EFAULT;
    if (r == 0 && (rt.flags & IP_C_SHADOW)) rt_hook_written(at, sizeof words);
    return r;
}

long rt_sys_prlimit64(struct tstate *ts) {
    u32 pid = (u32)ts->gpr[IP_RDI];
    bool ours = pid == 0 || pid == rt_th(ts)->pid; /* of another process the kernel knows */
    int i = ours ? emulated((u32)ts->gpr[IP_RSI]) : -1;
    return i < 0 ? to_kernel(ts, __NR_prlimit64) : answer(ts, (u32)i, ts->gpr[IP_RDX], ts->gpr[IP_R10]);
}

/* ---- room for descriptors that we need for a moment ---------------------------------------- */

bool rt_more_files(struct rlimit64 *before) {
    struct rlimit64 more;
    if (kernel_limit(RLIMIT_NOFILE, NULL, before) < 0) return false;
    more = (struct rlimit64){before->rlim_max, before->rlim_max};
    if (more.rlim_max < (u64)rt.sock_fd + 64) { /* possible with privilege only */
        more.rlim_cur = more.rlim_max = (u64)rt.sock_fd + 64;
        if (kernel_limit(RLIMIT_NOFILE, &more, NULL) == 0) return true;
        more.rlim_cur = more.rlim_max = before->rlim_max;
    }
    return more.rlim_cur != before->rlim_cur && kernel_limit(RLIMIT_NOFILE, &more, NULL) == 0;
}

void rt_files_as_before(const struct rlimit64 *before) { kernel_limit(RLIMIT_NOFILE, before, NULL); }

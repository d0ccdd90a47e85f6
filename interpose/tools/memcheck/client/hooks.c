/* What memcheck wants to be told (runtime/hooks.h): nearly all goes to the shadow.  With --instrument=no there is no
 * shadow, and nothing is wanted. */
#include "heap/heap.h"
#include "heap/heap_hooks.h"
#include "shadow/origin.h"
#include "shadow/origin_table.h"
#include "shadow/shadow.h"
#include "tools/memcheck/client/io_uring.h"
#include "tools/memcheck/client/memcheck.h"

struct mc_root mc_root;

static inline bool on(void) { return rt.flags & IP_C_SHADOW; }

#define LIES_ALIKE(a, b, field) _Static_assert(offsetof(struct a, field) == offsetof(struct b, field), #b "." #field)
LIES_ALIKE(mc_origin_place, origin_place, number);
LIES_ALIKE(mc_origin_place, origin_place, chunk);
LIES_ALIKE(mc_origin_chunk, origin_chunk, tags);
LIES_ALIKE(mc_origin_chunk, origin_chunk, owners);
_Static_assert(sizeof(struct mc_origin_place) == sizeof(struct origin_place), "rows of them");
_Static_assert((int)MC_ORIGIN_GRANULE == ORIGIN_GRANULE && (int)MC_ORIGIN_CHUNK == ORIGIN_CHUNK, "units of tags");

void rt_hook_symbols(u64 *symbols) {
    sh_symbols(symbols);
    mc_root.origins = (struct mc_origins){(u64)&origin_places, (u64)&origin_n_places};
    symbols[IP_SYM_TOOL] = (u64)&mc_root;
    symbols[IP_SYM_REQUEST] = (u64)rt_heap_stub;
}
void rt_hook_start(struct tstate *ts) { rt_shadow_init(ts); }
void rt_hook_thread_begin(struct tstate *ts) {
    if (on()) sh_stack_begins(ts);
}
void rt_hook_thread_end(struct tstate *ts) {
    origin_thread_end(ts);
    sh_stack_ends(ts);
}

/* The child of a fork has one thread, which must find none of these held by a thread that is not there. */
void rt_hook_fork_lock(enum rt_fork_phase phase, bool lock) {
    rt_lock_t *const inner[] = {&sh_map_lock, &sh_stacks_lock, &sh_uring_lock, &mc_ignored_lock, &origin_lock};
    if (phase == RT_FORK_OUTER) {
        if (lock)
            rt_heap_fork_lock();
        else
            rt_heap_fork_unlock();
        return;
    }
    for (u32 i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        if (lock)
            rt_lock(inner[i]);
        else
            rt_unlock(inner[i]);
    }
}

void rt_hook_mapped(u64 addr, u64 len, int state) {
    /* Closed memory has no shadow: that reads as unaddressable, and costs nothing however much it is. */
    if (on() && state != RT_SH_CLOSED) rt_shadow_mapped(addr, len, state);
}
void rt_hook_opened(u64 addr, u64 len) {
    if (on()) rt_shadow_opened(addr, len);
}
void rt_hook_unmapped(u64 addr, u64 len) {
    if (on()) rt_shadow_unmapped(addr, len);
}
void rt_hook_moved(u64 from, u64 to, u64 len) {
    if (on()) rt_shadow_moved(from, to, len);
}
/* The kernel clears such memory, but who gets it from sbrk wants it as from malloc. */
void rt_hook_data_end(struct tstate *ts, u64 from, u64 to) {
    if (!on()) return;
    if (to > from) {
        rt_shadow_set(from, to - from, RT_SH_UNDEFINED);
        origin_by_call(ts, from, to - from);
    }
    rt_shadow_set(to, RT_ROUND_UP(to, RT_PAGE) - to, RT_SH_NOACCESS);
}
void rt_hook_written(u64 addr, u64 len) {
    if (on()) rt_shadow_set(addr, len, RT_SH_DEFINED);
}

bool rt_hook_stack_new(u64 lo, u64 hi, u64 sp) { return on() && rt_shadow_stack(lo, hi, sp); }
void rt_hook_stack_grown(struct tstate *ts, u64 lo, u64 old_lo, u64 hi) {
    if (on()) rt_shadow_stack_grown(ts, lo, old_lo, hi);
}
bool rt_hook_stack_region(u64 sp, u64 *lo, u64 *hi, bool *takes) { return on() && rt_stack_region(sp, lo, hi, takes); }
void rt_hook_stack_named(u64 lo, u64 hi, bool known) {
    if (!on()) return;
    if (known)
        rt_stack_register(lo, hi, true);
    else
        rt_stack_unregister(lo, hi);
}
void rt_hook_stack_changed(struct tstate *ts, u64 old_sp, u64 new_sp) {
    if (on()) rt_stack_changed(ts, old_sp, new_sp);
}
void rt_hook_stack_loaded(struct tstate *ts, u64 old_sp, u64 new_sp) {
    if (on()) rt_stack_loaded(ts, old_sp, new_sp);
}
void rt_hook_stack_restored(struct tstate *ts, u64 old_sp, u64 new_sp) {
    if (on()) rt_stack_restored(ts, old_sp, new_sp);
}
void rt_hook_stack_returned(struct tstate *ts, u64 old_sp, u64 new_sp, bool there) {
    if (on()) rt_stack_returned(ts, old_sp, new_sp, there);
}

enum rt_slow rt_hook_slow(struct tstate *ts, const struct ip_exit *x) { return sh_slow(ts, x); }
void rt_hook_instruction(struct tstate *ts, const struct ip_insn *in) {
    if (on()) rt_track_insn(ts, in);
}
void rt_hook_bad_jump(struct tstate *ts, u64 pc, u64 ret) {
    if (on()) rt_report_jump(ts, pc, ret);
}
void rt_hook_no_memory(struct tstate *ts, u64 addr) {
    if (on()) rt_report_no_memory(ts, addr);
}
void rt_hook_no_address(struct tstate *ts) {
    if (on()) rt_report_no_address(ts);
}

void rt_hook_syscall_before(struct tstate *ts, long nr, const u64 args[6]) {
    if (on()) mc_syscall_before(ts, nr, args);
}
void rt_hook_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result) {
    if (on()) mc_syscall_after(ts, nr, args, result);
}
bool rt_hook_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result) {
    return heap_request(ts, code, args, result) || mc_described_request(ts, code, args, result) ||
           (on() && mc_request(ts, code, args, result));
}
void rt_hook_handler_enter(struct tstate *ts, u64 frame, const struct sig_context *mc) {
    if (on()) sh_handler_enter(ts, frame, mc);
}
void rt_hook_handler_leave(struct tstate *ts, u64 frame, const struct sig_context *mc) {
    if (on()) sh_handler_leave(ts, frame, mc);
}
bool rt_hook_ignored(struct tstate *ts, u64 addr, u64 n) { return mc_is_ignored(ts, addr, n); }
u32 rt_hook_describe(u64 addr) { return heap_describe(addr); }

/* ---- The heap's memory ------------------------------------------------------------------ */

bool heap_hook_hold(struct tstate *ts) { return origin_hold(ts); }
void heap_hook_let_go(void) { origin_let_go(); }
void heap_hook_allocated(u64 addr, u64 size, bool zeroed) {
    if (on()) sh_block_allocated(addr, size, zeroed);
}
void heap_hook_span(u64 addr, u64 size) {
    if (on()) sh_make_present(addr, size);
}
void heap_hook_idle(u64 addr, u64 size) {
    if (on()) sh_idle(addr, size);
}
bool heap_hook_alike(u64 addr, u64 bytes, u64 stride, u64 offset, u64 size) {
    return on() && sh_share_alike(addr, bytes, stride, offset, size);
}
void heap_hook_end_alike(u64 addr, u64 bytes) { sh_end_alike(addr, bytes); }
bool heap_hook_zeros(u64 addr, u64 size) { return on() && sh_share_zeros(addr, size); }
void heap_hook_end_zeros(u64 addr, u64 size) { sh_end_zeros(addr, size); }
void heap_hook_expected(u64 addr) {
    __builtin_prefetch((const void *)sh_v(addr), 1);
    __builtin_prefetch((const void *)sh_a(addr), 1);
}
/* Tags go with the block: they are in the caches now, and make room for others. */
void heap_hook_released(u64 addr, u64 size, bool idle) {
    if (!on()) return;
    if (origins_kept()) origin_forget(addr, size);
    sh_block_released(addr, size, idle);
}
void heap_hook_state(u64 addr, u64 size, int state) {
    if (!on()) return;
    origin_of_block(addr, size);
    rt_shadow_set_mapped(addr, size, state);
}
bool heap_hook_may_access(struct tstate *ts, u64 addr, u64 n) {
    u64 bad;
    return !on() || !rt_shadow_unaddr(ts, addr, n, &bad);
}

/* Upwards, chunk by chunk: what becomes defined may cost no page.  True: something is undefined. */
static bool copy_vbits(u64 dst, u64 src, u64 n) {
    bool undefined = false;
    for (u64 k; n; dst += k, src += k, n -= k) {
        k = sh_piece(dst, n);
        if (!sh_is_zero(sh_v(src), sh_v(src + k))) {
            sh_copy(sh_v(dst), sh_v(src), k);
            undefined = true;
        } else if (k >= RT_PAGE && sh_is_large(dst)) {
            sh_define(dst, k);
        } else {
            sh_zero(sh_v(dst), k);
        }
    }
    return undefined;
}

void heap_hook_copied(struct tstate *ts, u64 dst, u64 src, u64 n) {
    if (!on()) return;
    if (!(dst > src && dst - src < n)) {
        if (copy_vbits(dst, src, n)) origin_copied(ts, dst, src, n);
        return;
    }
    u64 buf[64];
    for (u64 left = n; left;) {
        u64 k = left < sizeof buf ? left : sizeof buf;
        left -= k;
        sh_copy((u64)buf, sh_v(src + left), k);
        sh_copy(sh_v(dst + left), (u64)buf, k);
    }
    origin_copied(ts, dst, src, n);
}

static bool is_closed(u64 addr) {
    u8 bits;
    return sh_read(&bits, sh_a(addr), 1) == 0 && bits >> addr % 8 & 1;
}

/* What the program has closed of a block (MAKE_MEM_NOACCESS) is closed in the one that takes its place. */
static void close_alike(struct tstate *ts, u64 dst, u64 src, u64 n) {
    u64 from, to = src, end = src + n;
    while (rt_shadow_unaddr(ts, to, end - to, &from)) {
        for (to = from; to < end && is_closed(to);) to++;
        if (to == from) return; /* nothing is mapped there any more */
        rt_shadow_set(dst + (from - src), to - from, RT_SH_NOACCESS);
    }
}

void heap_hook_moved(struct tstate *ts, u64 dst, u64 src, u64 n) {
    if (!on() || !copy_vbits(dst, src, n)) return;
    origin_copied(ts, dst, src, n);
    if (!sh_is_open(src, src + n)) close_alike(ts, dst, src, n);
}

u64 heap_hook_defined(u64 addr, u64 n) {
    if (!on()) return n;
    u64 page = RT_PAGE - (sh_v(addr) & (RT_PAGE - 1)); /* the next one need not be there */
    long zeros = rt_zeros(sh_v(addr), n < page ? n : page);
    return zeros > 0 ? (u64)zeros : 0;
}

void heap_hook_filled(u64 dst, u64 byte_at, u64 n) {
    if (!on()) return;
    u8 bits = *(const u8 *)sh_v(byte_at);
    for (u64 k; n; dst += k, n -= k) {
        k = sh_piece(dst, n);
        if (!bits && k >= RT_PAGE && sh_is_large(dst))
            sh_define(dst, k);
        else if (!bits)
            sh_zero(sh_v(dst), k);
        else
            sh_fill(sh_v(dst), bits, k);
    }
}

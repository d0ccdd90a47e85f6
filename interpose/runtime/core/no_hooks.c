/* What happens where a tool takes no interest: the weak definitions of all hooks (runtime/hooks.h). */
#include "runtime/hooks.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NOTHING __attribute__((weak))

NOTHING void rt_hook_symbols(u64 *symbols) {}
NOTHING void rt_hook_start(struct tstate *ts) {}
NOTHING void rt_hook_thread_begin(struct tstate *ts) {}
NOTHING void rt_hook_thread_end(struct tstate *ts) {}
NOTHING void rt_hook_leaving(struct tstate *ts, bool for_exec) {}
NOTHING void rt_hook_fork(struct tstate *ts, bool child) {}
NOTHING void rt_hook_full(struct tstate *ts) {}
NOTHING void rt_hook_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point) {}
NOTHING void rt_hook_signal(struct tstate *ts, int sig, u64 pc, u64 sp) {}
NOTHING void rt_hook_sigreturn(struct tstate *ts) {}
NOTHING void rt_hook_fork_lock(enum rt_fork_phase phase, bool lock) {}
NOTHING void rt_hook_mapped(u64 addr, u64 len, int state) {}
NOTHING void rt_hook_unmapped(u64 addr, u64 len) {}
NOTHING void rt_hook_opened(u64 addr, u64 len) {}
NOTHING void rt_hook_moved(u64 from, u64 to, u64 len) {}
NOTHING void rt_hook_data_end(struct tstate *ts, u64 from, u64 to) {}
NOTHING void rt_hook_written(u64 addr, u64 len) {}
NOTHING bool rt_hook_stack_new(u64 lo, u64 hi, u64 sp) { return false; }
NOTHING void rt_hook_stack_grown(struct tstate *ts, u64 lo, u64 old_lo, u64 hi) {}
NOTHING bool rt_hook_stack_region(u64 sp, u64 *lo, u64 *hi, bool *takes) { return false; }
NOTHING void rt_hook_stack_named(u64 lo, u64 hi, bool known) {}
NOTHING void rt_hook_stack_changed(struct tstate *ts, u64 old_sp, u64 new_sp) {}
NOTHING void rt_hook_stack_loaded(struct tstate *ts, u64 old_sp, u64 new_sp) {}
NOTHING void rt_hook_stack_restored(struct tstate *ts, u64 old_sp, u64 new_sp) {}
NOTHING void rt_hook_stack_returned(struct tstate *ts, u64 old_sp, u64 new_sp, bool there) {}
NOTHING void rt_hook_instruction(struct tstate *ts, const struct ip_insn *in) {}
NOTHING void rt_hook_bad_jump(struct tstate *ts, u64 pc, u64 ret) {}
NOTHING void rt_hook_no_memory(struct tstate *ts, u64 addr) {}
NOTHING void rt_hook_no_address(struct tstate *ts) {}
NOTHING void rt_hook_syscall_before(struct tstate *ts, long nr, const u64 args[6]) {}
NOTHING void rt_hook_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result) {}
NOTHING bool rt_hook_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result) { return false; }
NOTHING void rt_hook_handler_enter(struct tstate *ts, u64 frame, const struct sig_context *mc) {}
NOTHING void rt_hook_handler_leave(struct tstate *ts, u64 frame, const struct sig_context *mc) {}
NOTHING bool rt_hook_ignored(struct tstate *ts, u64 addr, u64 n) { return false; }
NOTHING u32 rt_hook_describe(u64 addr) { return 0; }
/* A slow path that nobody has asked for: the translator and this runtime do not belong together. */
NOTHING enum rt_slow rt_hook_slow(struct tstate *ts, const struct ip_exit *x) {
    rt_panic(ts, "slow path %u of no tool", x->kind_aux & 0xff);
}

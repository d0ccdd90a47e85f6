/* What a tool may be told, and asked.
 *
 * Every tool has a runtime of its own: the core's objects and those of tools/NAME/client, bound when it is linked.
 * A tool defines the hooks it wants; base/no_hooks.c has a weak definition of each that does nothing, so a hook that
 * no tool takes costs one call of an empty function, and none of them is on a hot path.  Generated code reaches a
 * tool's own slow paths by the addresses that rt_hook_symbols publishes, never through these.
 *
 * The core calls upward through this header only; core/seam.h is the same for the layers between.
 */
#ifndef INTERPOSE_HOOKS_H
#define INTERPOSE_HOOKS_H

#include "runtime/base/rt.h"

struct sig_context;

/* ---- Life -------------------------------------------------------------------- */
/* Fill in the addresses of slow paths that the translator emits jumps to (enum ip_sym). */
void rt_hook_symbols(u64 *symbols);
/* Once, on the main thread: memory can be mapped, nothing of the program is there yet. */
void rt_hook_start(struct tstate *ts);
/* A fork is under way.  The locks of a tool nest around those of the memory manager: taken in the order of the
 * phases, given back in the other. */
enum rt_fork_phase { RT_FORK_OUTER, RT_FORK_INNER };
void rt_hook_fork_lock(enum rt_fork_phase phase, bool lock);

/* A thread (the main one, or a child on this memory) is about to run its first code, or has run its last. */
void rt_hook_thread_begin(struct tstate *ts);
void rt_hook_thread_end(struct tstate *ts);
/* The process is about to end, or to execute another program; in the first case its other threads are at rest. */
void rt_hook_leaving(struct tstate *ts, bool for_exec);
/* About to fork (child: false), with no lock held; this is the child, all its tables are its own. */
void rt_hook_fork(struct tstate *ts, bool child);

/* ---- Records (abi/trace.h) ------------------------------------------------------ */
/* The thread's buffer is full. */
void rt_hook_full(struct tstate *ts);
/* Control has left the block at this point, not by one of its exits: with a fault or for a signal.  Called by the
 * host's signal handler. */
void rt_hook_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point);
/* A signal's handler is about to run, pc and sp were interrupted; a handler has returned through its frame. */
void rt_hook_signal(struct tstate *ts, int sig, u64 pc, u64 sp);
void rt_hook_sigreturn(struct tstate *ts);

/* ---- Memory ------------------------------------------------------------------ */
enum { RT_SH_DEFINED, RT_SH_UNDEFINED, RT_SH_NOACCESS, RT_SH_CLOSED /* mapped without any access */ };
/* A mapping came, went, or moved to where none was. */
void rt_hook_mapped(u64 addr, u64 len, int state);
void rt_hook_unmapped(u64 addr, u64 len);
void rt_hook_moved(u64 from, u64 to, u64 len);
/* Memory that has no access is given some. */
void rt_hook_opened(u64 addr, u64 len);
/* The end of the data segment (brk) has moved: what lies between came, or went. */
void rt_hook_data_end(struct tstate *ts, u64 from, u64 to);
/* The kernel or the runtime has written these bytes for the program (any alignment). */
void rt_hook_written(u64 addr, u64 len);

/* ---- Stacks ------------------------------------------------------------------- */
/* A stack begins: [lo, hi), of which the bytes from sp on are in use.  True: what lies below was written by the program
 * and stays; who runs there has IP_U_TAKES. */
bool rt_hook_stack_new(u64 lo, u64 hi, u64 sp);
/* The main stack is now mapped from lo on, not from old_lo. */
void rt_hook_stack_grown(struct tstate *ts, u64 lo, u64 old_lo, u64 hi);
/* The region that holds sp: registered stack, heap block or mapping; takes: who runs there has IP_U_TAKES.  false: the
 * tool does not care. */
bool rt_hook_stack_region(u64 sp, u64 *lo, u64 *hi, bool *takes);
/* The program names a stack of its own, or forgets one. */
void rt_hook_stack_named(u64 lo, u64 hi, bool known);
/* RSP has changed outside of translated code: within its frame's stack; to what may be another one; the
 * same, and the red zone there stays; from a handler back to what it interrupted, whose red zone stays (there: the
 * handler's frame lies right below that). */
void rt_hook_stack_changed(struct tstate *ts, u64 old_sp, u64 new_sp);
void rt_hook_stack_loaded(struct tstate *ts, u64 old_sp, u64 new_sp);
void rt_hook_stack_restored(struct tstate *ts, u64 old_sp, u64 new_sp);
void rt_hook_stack_returned(struct tstate *ts, u64 old_sp, u64 new_sp, bool there);

/* ---- Instructions ---------------------------------------------------------------- */
/* A slow path of the tool's (IP_XS_*) was taken.  RT_SLOW_RESUME: go on in the block, at its patch address;
 * RT_SLOW_ENTER: at the block of ts->pc, which may carry mode bits. */
enum rt_slow { RT_SLOW_RESUME, RT_SLOW_ENTER };
enum rt_slow rt_hook_slow(struct tstate *ts, const struct ip_exit *x);
/* The runtime carries this instruction out itself; it has not begun. */
void rt_hook_instruction(struct tstate *ts, const struct ip_insn *in);
/* The next instruction would be fetched from pc, where there is no code; ret: the return address of the call that
 * goes there, if it has not pushed it, else 0. */
void rt_hook_bad_jump(struct tstate *ts, u64 pc, u64 ret);
/* The access of ts->pc to addr is about to fault, because nothing is mapped there. */
void rt_hook_no_memory(struct tstate *ts, u64 addr);
/* It is about to, because the address is not canonical; the fault did not tell which it is. */
void rt_hook_no_address(struct tstate *ts);

/* ---- Calls, requests, signals ------------------------------------------------------ */
void rt_hook_syscall_before(struct tstate *ts, long nr, const u64 args[6]);
void rt_hook_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result);
/* A client request; false: the tool does not know it. */
bool rt_hook_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result);
/* A signal handler begins with this frame, or returns through it. */
void rt_hook_handler_enter(struct tstate *ts, u64 frame, const struct sig_context *mc);
void rt_hook_handler_leave(struct tstate *ts, u64 frame, const struct sig_context *mc);

/* ---- Reports ------------------------------------------------------------------------- */
/* Number of the record that describes addr (a heap block), 0: none. */
u32 rt_hook_describe(u64 addr);
/* An invalid access to n bytes (0: not known how many) at addr: is it one of those that are not to be reported? */
bool rt_hook_ignored(struct tstate *ts, u64 addr, u64 n);

#endif

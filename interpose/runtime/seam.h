/* What a lower layer of the client asks of a higher one.
 *
 * Layers: base < core < memory, signals, syscalls, processes, procfs, ptrace, loader < requests, heap < shadow < tools.
 * A file uses what its own layer and those below declare, and beyond that only this header and hooks.h; the linker
 * binds both.  The core's dispatcher stands in the middle of everything a program can do, so most of this is its.
 */
#ifndef INTERPOSE_SEAM_H
#define INTERPOSE_SEAM_H

#include "abi/segments.h"
#include "runtime/base/rt.h"

/* ---- memory */
/* Executable memory around addr without a gap, as [range[0], range[1]). */
bool rt_find_code(u64 addr, u64 range[2]);
bool rt_find_seg(u64 addr, struct rt_seg *out); /* copy, taken under the lock */
bool rt_next_seg(u64 addr, struct rt_seg *out); /* the one that addr is in, else the next above */
/* Where addresses of user space end: below the last page of 47 bits, or of 56 where the kernel pages by five levels. */
extern u64 rt_task_end;
/* Take W from a writable page because it shall hold translated code, and tell the translator (rt_watched_page). */
void rt_protect_code_page(struct tstate *ts, u64 page);
/* By userfaultfd(2): to look at its memory may mean to wait for its other threads. */
extern bool rt_program_brings_pages;

/* ---- the translator */
/* Answer the request to the translator in the thread's slot; false: the supervisor has to. */
bool rt_translate_here(struct tstate *ts, u32 kind);

/* ---- signals */
/* Deliver a recorded signal, if any, by changing ts to the handler's entry. */
void rt_signal_deliver(struct tstate *ts);
/* Raise a synchronous signal for the guest at ts->pc. */
void rt_signal_raise(struct tstate *ts, int sig, int code, u64 addr);
/* The signal of an exception without an address at ts->pc: 4 overflow, 11 segment not present, 12 stack, 13
 * general protection, 17 alignment check. */
void rt_signal_exception(struct tstate *ts, enum ip_vector vector, u32 err);
/* What rt_copy_from, rt_copy_to, rt_load_gs or rt_load_ss just failed with, for the guest at ts->pc: true: not
 * yet, try again (a stack has grown).  stack: the access is one of the stack segment. */
bool rt_signal_copied(struct tstate *ts, bool stack);
/* int1 by the guest: ts->pc is behind it, len bytes. */
void rt_signal_int1(struct tstate *ts, u32 len);
/* To be called when a helper is about to resume in the middle of a block and
 * th->pending is set: arms single-stepping through ts->rflags.  The test of
 * pending that leads here must lie in section rt_border. */
void rt_signal_step(struct tstate *ts);
/* Is it an address at all, to this CPU? */
bool rt_canonical(u64 addr);
/* Make another thread leave translated code at its next boundary; false: it is not in any. */
bool rt_kick(struct rt_thread *th);
/* The guest's trap flag (trapflag.c).  About to enter a block of the one instruction at ts->pc with it set; back from
 * it, executed: to its end, and it is no system call; an instruction of ours has loaded it. */
void rt_trap_flag_enter(struct tstate *ts);
void rt_trap_flag_after(struct tstate *ts, bool executed);
void rt_trap_flag_load(struct tstate *ts, bool set);
/* Was it the instruction that has just been executed that loaded it? */
bool rt_trap_flag_was_loaded(struct tstate *ts);

/* The selector of SS, as the guest sees it (far.c). */
u16 rt_ss(struct tstate *ts);
/* Loads the segments of a frame that rt_sigreturn has gone back to ts->pc with, as the kernel does last: by an iret,
 * whose fault is the program's there. */
void rt_segments_returned(struct tstate *ts, u16 cs, u16 ss);

/* ---- system calls */
/* Execute the system call in ts (rax = number); sets rax, rcx, r11, ts->pc. */
void rt_syscall(struct tstate *ts, u64 next_pc);
/* The i386 system call of ts, made by int $0x80; and the kernel's answer to one. */
void rt_syscall32(struct tstate *ts, u64 next_pc);

/* ---- threads and processes */
struct tstate *rt_thread_by_index(u32 i); /* NULL past the end */
/* Will this child on our memory never run again? */
bool thread_killed(struct tstate *ts);
/* What those have asked for, who are never to run again, is not done any more unless it is under way. */
void thread_withdraw_killed(void);
/* A moment of a wait for what another thread is about to do, *w zeroes at first.  False: it has not run for a second,
 * so it stands still (a debugger's stop, a page that another thread is to bring), or will never run again. */
struct thread_wait {
    u64 ran;
    u32 moments, idle;
};
bool thread_wait(struct tstate *ts, struct thread_wait *w);
/* --stop-after: the rest of the run is the real CPU's. */
void rt_stop_after(struct tstate *ts);
/* What a tracer would be shown next belongs to no system call. */
void rt_trace_no_call(struct tstate *ts);
/* The first C code of the client. */
RT_NORETURN void rt_main(u64 *sp);

/* ---- a debugger in the supervisor (debug.c) */
/* Between two instructions: wait if that is wanted, or see to it that the next one is a step.  true: the thread has
 * waited, and may be elsewhere. */
bool rt_debug_boundary(struct tstate *ts);
/* At a breakpoint: ts->pc. */
void rt_debug_break(struct tstate *ts);
/* About to execute an instruction while there are watchpoints.  true: it accesses one; ts->pc leads to it alone. */
bool rt_debug_accesses(struct tstate *ts, const struct ip_insn *in);
/* A system call that is done has accessed this memory (IP_ACC_R, IP_ACC_W): if it is watched, the thread stops next. */
void rt_debug_touched(struct tstate *ts, u64 at, u64 size, u32 access);
/* An instruction under the trap flag is done.  true: the flag is the debugger's, there is no signal. */
bool rt_debug_stepped(struct tstate *ts);
/* About to deliver info: the debugger decides.  0: nothing; else the signal, *info is its. */
struct sig_info;
bool rt_debug_minds(struct tstate *ts, int sig);
int rt_debug_signal(struct tstate *ts, struct sig_info *info);
/* A call has come back that the kernel may have broken off, with EINTR, for a signal; next_pc: behind it.  Then either
 * a handler of the program's is about to run, or, behind the delivery, none has: the debugger has dropped the signal,
 * or it is ignored.  So the call begins again, as it would without a debugger. */
void rt_debug_broke(struct tstate *ts, long nr, long result, u64 next_pc);
void rt_debug_handles(struct tstate *ts);
void rt_debug_returned(struct tstate *ts); /* from a handler, if debug_aside is set */
void rt_debug_unbreak(struct tstate *ts);
/* Before a system call; behind it, nr and pc are from before. */
void rt_debug_call(struct tstate *ts, u64 next_pc);
void rt_debug_called(struct tstate *ts, u64 nr, u64 pc);
/* An error was told, and the thread is to stop for it; has it been told?  Then the slow path was begun anew. */
void rt_debug_told(struct tstate *ts, u64 pc, u64 sp);
bool rt_debug_was_told(struct tstate *ts, u64 pc, u64 sp);
/* Behind a slow path: shall its instruction begin anew, so that the thread stops before it?  ts->pc leads there then.
 */
bool rt_debug_begins_anew(struct tstate *ts, const struct ip_exit *x);
/* About to make a system call that nobody debugs; it was broken off for a debugger that has come. */
void rt_debug_wait_begins(struct tstate *ts, long nr, const u64 args[6]);
void rt_debug_wait_stops(struct tstate *ts, long nr, const u64 args[6]);
/* About to make a system call under a debugger, or behind one: if it is one that was broken off, it gets the rest of
 * its time-out, which may lie in rest. */
void rt_debug_times(struct tstate *ts, long nr, u64 args[6], u64 rest[2]);
/* This is the child of a fork: what its parent was about to tell is not its own. */
void rt_debug_forked(struct tstate *ts);
/* Is a child that is about to be born to wait for the debugger?  Not one that its parent waits for in the kernel. */
bool rt_debug_follows(struct tstate *ts);
/* A process was made; it is told behind the system call, by the second. */
void rt_debug_child(struct tstate *ts, bool vfork, u64 pid);
void rt_debug_born(struct tstate *ts);
/* Will this child of vfork be told?  Its maker may tell when it is gone from the memory. */
bool rt_debug_tells_of(struct tstate *ts);
/* This thread begins; it ends by exit, and others stay. */
void rt_debug_begins(struct tstate *ts);
void rt_debug_exits(struct tstate *ts, int status);

/* ---- client requests */
/* Held across a fork: declared stacks; guest calls under way. */
void rt_client_stacks_fork_lock(bool lock);
void rt_calls_fork_lock(bool lock);
void rt_client_request(struct tstate *ts, u64 next_pc);
bool rt_call_guest(struct tstate *ts, u64 fn, u64 next_pc, bool silent);
bool rt_call_is_silent(struct tstate *ts); /* errors met now are not reported */
bool rt_call_return(struct tstate *ts);    /* false: no call is under way */
/* Whether the thread is where the program's own wrappers and replacements do not apply (a silent call). */
bool rt_call_is_unwrapped(struct tstate *ts);
/* Enter a guest function on behalf of a request; when it returns, every guest
 * register is as now, but rdx = its result and pc = next_pc.  false: nested too
 * deep; silent: no errors are reported until then.  rt_call_return: the guest jumped to the magic return address. */
#define RT_CALL_RETURN 0x7fdf0000ull

#define RT_SYSCALL_BYTES 0x050f /* the instruction, read as a number of two bytes */

/* ---- the tables of translations, for the channel */
/* Forget fast-table entries (all of them). */
void rt_flush_fast(void);
/* The table of indirect jumps is new.  Its pages are not looked at first: each look would be one fault more. */
void rt_fill_fast(void);

#endif

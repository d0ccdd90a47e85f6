/* Inside of the signal layer: signal.c (host side), sigdeliver.c (the guest's), sigend.c (threads at the process's
 * end), sigaction.c (what the guest asked for), sigframe.c (its frames), and what thread.c and process.c need of them.
 */
#ifndef INTERPOSE_SIG_H
#define INTERPOSE_SIG_H

#include <asm/unistd.h>
#include <linux/errno.h>

#include "runtime/base/ksignal.h"

/* One table a process; a vfork child has its own although memory is shared. */
struct sig_table {
    rt_lock_t lock;
    u32 pad;
    struct sig_action act[SIG_MAX + 1];
};

/* V bits of the registers at an interruption, kept aside until sigreturn. */
struct sig_vsave {
    u64 frame; /* guest address of the frame; 0 free */
    u64 umask, vgpr[16], vk[8], vmmx[8];
    u8 vflags, pad;
    u16 vfsw;
    u8 pad1[4];
    u8 vvec[2048];
    u64 gpr[17];    /* values as the frame got them, the flags last */
    u8 image[4096]; /* extended state, as far as it fits */
};
#define SIG_VSAVES 8

enum { SIG_TOLD_NOTHING, SIG_TOLD, SIG_TOLD_INTERRUPTED };
struct sig_told { /* sigtold.c: the newest access that was reported */
    u64 pc, registers, addr;
    u32 state, n, again, pad;
};

/* Per thread, behind rt_thread in tstate.runtime_area. */
struct sig_priv {
    u32 stepping;   /* the trap flag is ours */
    u32 step_pushf; /* the instruction being stepped pushes the flags */
    u32 fault;      /* SIG_FAULT_*: fault_info waits for rt_signal_resume */
    u32 parked;
    u64 err, trapno, cr2; /* of the last fault, as the kernel keeps them */
    u64 retry_pc, retry_addr, retries;
    u64 no_room; /* where a frame would have been that did not fit, until the SIGSEGV that tells it */
    struct sig_info fault_info;
    struct sig_info copy_info; /* of the last fault in uaccess.S */
    u64 copy_err, copy_trapno, copy_cr2;
    u64 fault_key;    /* of the block with the fault */
    u64 vpend;        /* signals of SIG_SYNC sent while virtually blocked */
    u64 saved_mask;   /* with restore_mask: a call that waits under a mask of its own */
    u32 restore_mask; /* was interrupted; sigmask is still that one, a frame saves this */
    u32 pad5;
    u8 step_armed, step_op, step_keeps, step_rep, step_addr32,
        pad2[3]; /* of the instruction under the guest's TF (trapflag.c) */
    u64 step_key;
    u64 step_count; /* not 0: RCX of a repeated string instruction, of which one element runs */
    u64 step_flags; /* then: from before it */
    u32 ac_off;     /* stepping an access of ours without the guest's AC: 1, 2 while stepping anyway */
    u32 watched;    /* a debug register's trap is to be told */
    u64 hit_block;  /* what accessed: the host address of its block, and where the instruction is in it */
    u32 hit_off, pad3;
    struct sig_info vinfo[5];
    struct sig_table *table;
    struct sig_vsave *vsave;
    u32 vsave_next;
    /* What a frame has no place for, of the newest interruptions: the wrapped function's address (GET_ORIG_FN),
     * and the pc if it is the beginning of a function that is called past its wrapper. */
    struct {
        u64 frame, nraddr, noredir_pc;
        u64 unwrapped; /* of rt_thread */
    } nr[16];
    u32 nr_next;
    u32 tiles;     /* the kernel has made room for AMX tiles in this thread's frames (sigframe.c) */
    u64 pose_at;   /* coredump.c: where this thread shall be */
    u32 own_table; /* table is to be freed with the thread */
    /* What an exec needs until the kernel has read it.  If it succeeds in a
     * vfork child, only the parent is left to free it. */
    void *exec_work, *exec_argv;
    u64 exec_argv_bytes;
    struct sig_told told;
};
enum { SIG_FAULT_NONE, SIG_FAULT_GUEST, SIG_FAULT_SHADOW, SIG_FAULT_RECHECK, SIG_FAULT_EARLY };
#define SIG_PRIV_OFFSET 1792
_Static_assert(sizeof(struct rt_thread) <= SIG_PRIV_OFFSET, "rt_thread and sig_priv overlap");
_Static_assert(SIG_PRIV_OFFSET + sizeof(struct sig_priv) <= sizeof((struct tstate *)0)->runtime_area,
               "sig_priv does not fit");
static inline struct sig_priv *sig_priv(struct tstate *ts) {
    return (struct sig_priv *)(void *)(ts->runtime_area + SIG_PRIV_OFFSET);
}

/* ---- show_signals.c: nothing without --trace-signals=yes ---------------------------- */
void sig_show_action(struct tstate *ts, int sig, u64 act, u64 oact, u64 flags);
void sig_show_mask(struct tstate *ts, long how, u64 addr, u64 set);
void sig_show_sent(struct tstate *ts, const char *call, int sig, u64 to, long result);
void sig_show_delivery(struct tstate *ts, const struct sig_info *info);
void sig_show_default(struct tstate *ts, int sig, int code, const char *action);
void sig_show_frame(struct tstate *ts, int sig);
void sig_show_return(struct tstate *ts);

/* ---- sigtold.c ------------------------------------------------------------------ */
/* The instruction at ts->pc has been checked, and not run: it will be checked again. */
void sig_told_interrupted(struct tstate *ts);
/* It has faulted. */
void sig_told_done(struct tstate *ts);

/* ---- sigaction.c -------------------------------------------------------------- */
/* Read what the process inherited and put our handler everywhere it belongs. */
void sig_table_init(struct tstate *ts);
/* The table of a new thread: its parent's, or a copy (not CLONE_SIGHAND). */
void sig_table_inherit(struct tstate *parent, struct tstate *child, bool copy);
void sig_table_drop(struct tstate *ts);
struct sig_action sig_table_get(struct tstate *ts, int sig);
/* Those that a debugger minds get our handler also where the guest ignores them, or their default is to be, or to
 * stop.  They keep it: to give it up would drop those that wait. */
void sig_table_tell(struct tstate *ts);
bool sig_are_told(void);
/* The child of a fork, for which nothing waits, has no debugger, or one that will say. */
void sig_table_untell(void);
/* Around a call that waits for what is fatal alone: default actions are the kernel's, which otherwise sees handlers. */
void sig_table_killable(struct tstate *ts, bool begin);
/* Ignored by its action; a hint without the table's lock. */
bool sig_is_ignored(struct tstate *ts, int sig);
/* With all signals blocked: one waits whose default, which the guest has left, is to end the process, or to stop it. */
bool sig_ends(struct tstate *ts);
bool sig_ends_or_stops(struct tstate *ts);
/* Fetch the action for a delivery; SA_RESETHAND takes effect. */
struct sig_action sig_table_take(struct tstate *ts, int sig);
void sig_table_set_default(struct tstate *ts, int sig);
/* CLONE_CLEAR_SIGHAND, in the child. */
void sig_table_clear_handlers(struct tstate *ts);
/* Kernel dispositions as a native exec must find them; and back if it fails. */
void sig_table_before_exec(struct tstate *ts);
void sig_table_after_exec(struct tstate *ts);
long sig_kernel_action(int sig, const struct sig_action *act, struct sig_action *old);
/* All signals blocked: does the kernel take an alternate stack of this size?  For a call that the kernel judges
 * by it, it stays until the next, of th->sigstack_size. */
long sig_host_altstack(struct rt_thread *th, u64 size);
/* The first process of a PID namespace gets no signals for which it has no handler, pid_namespaces(7); its
 * own faults do end it. */
bool sig_is_spared(struct tstate *ts, const struct sig_action *act);
bool sig_never_comes(struct tstate *ts, int sig);
/* Does the kernel end the process as such a signal is sent, to it (0) or a thread of it?  It has no handler, and that
 * thread, or the first one, which the kernel takes before others, does not block it (complete_signal).  With our
 * handler the kernel only wakes the thread. */
bool sig_would_end(struct tstate *ts, int sig, u32 tid);

/* ---- signal.c ------------------------------------------------------------------ */
/* Kernel mask := the guest's, unless a signal is recorded. */
void sig_apply_mask(struct rt_thread *th);
/* Raw: block really everything; and the end of that. */
void sig_block_everything(void);
void sig_unblock_everything(struct rt_thread *th);
void sig_kernel_mask(u64 mask);
/* Something waits for rt_signal_deliver. */
bool sig_deliverable(struct tstate *ts);
/* Raw: have a thread come back from guest code, or from a call. */
void sig_kick(struct rt_thread *th);
#define SIG_PF_WRITE 2 /* page-fault error code: a store */

/* The ways into the kernel, syscall_asm.S. */
struct sig_kernel_entry {
    const char *begin, *insn, *abort;
    u64 restart; /* number of restart_syscall */
};
/* That of ip; the first one where it is none of them. */
const struct sig_kernel_entry *sig_kernel_entry(u64 ip);

/* ---- sigend.c ------------------------------------------------------------------ */
/* Before a report that ends the process: every other thread leaves guest code
 * and stays out of it.  One caller wins; the others never return. */
void sig_stop_others(struct tstate *ts);
/* Of a process that ends: true for the thread that runs its final calls, no other one returns. */
bool sig_park_at_end(struct tstate *ts);
/* The process ends, by another thread: this one parks when it goes back to guest code. */
bool sig_is_ending(struct tstate *ts);
/* A fork or an exec happens before the process begins to end, or never: a child must not be the copy of a process
 * whose libraries give their memory back, and the new image must not get the signal that stops threads.  False: the
 * process ends.  True: sig_admit_end is due, where the call comes back. */
bool sig_hold_off_end(struct tstate *ts);
void sig_admit_end(struct tstate *ts);
void sig_after_fork(struct tstate *ts);

/* ---- sigrep.c ------------------------------------------------------------------- */
/* About to step a repeated string instruction: all its elements but the last. */
void sig_repeat(struct sig_context *mc);

/* ---- debugregs.c ---------------------------------------------------------------- */
#define TRAP_WATCHED    4 /* TRAP_HWBKPT */
#define TRAP_PERF       6 /* an event of perf_event_open with sigtrap: what it is about stands in it */
#define PERF_BREAKPOINT 5 /* PERF_TYPE_BREAKPOINT */
void sig_note_hit(struct sig_priv *p, u64 ip);
/* Is a trap to be told here, at a point of the block? */
bool sig_traps_behind(const struct sig_priv *p, const struct sig_context *mc, const struct ip_block *b,
                      const struct ip_point *pt);

/* ---- trapflag.c ----------------------------------------------------------------- */
/* Is there a repeated string instruction, after each of whose elements the CPU is where it was? */
bool sig_repeats(u64 pc);
/* The instruction at ts->pc loads the flag. */
bool rt_trap_flag_loaded(struct tstate *ts);
/* Put back the count of a repeated string instruction, of which an element has been executed, or not. */
void sig_trap_flag_count(struct tstate *ts, bool executed);

/* ---- sigwait.c ------------------------------------------------------------------ */
/* The place of a signal of SIG_SYNC in vinfo. */
static inline u32 sig_sync_index(int sig) {
    return sig == SIG_ILL ? 0 : sig == SIG_TRAP ? 1 : sig == SIG_BUS ? 2 : sig == SIG_FPE ? 3 : 4;
}
/* To where it came from; but another thread may not block it in the kernel, so what was sent to a process of several
 * threads goes to this one. */
bool sig_requeue(struct tstate *ts, const struct sig_info *info);
/* With the guest's mask in the kernel: what was kept aside because of it, for an exec. */
void sig_give_back(struct tstate *ts);
/* A signal was sent that ends the process (sig_would_end); nothing of the program's runs any more. */
void sig_await_end(struct tstate *ts);
/* rt_kernel between the two, where needed. */
long sig_wait_here(struct tstate *ts, long nr, const u64 args[6]);
static inline bool sig_must_hold(struct tstate *ts) { return rt_th(ts)->sigmask & SIG_SYNC; }

/* ---- sigframe.c ---------------------------------------------------------------- */
void sig_xstate_init(void);
/* The XSAVE features kept for the guest. */
u64 sig_xfeatures(void);
/* What every frame has of them, in bytes; and whether a thread's frames may have more. */
u32 sig_xstate_size(void);
bool sig_xstate_grows(void);
/* A frame of the kernel's for this thread. */
void sig_xstate_seen(struct tstate *ts, const struct sig_context *mc);
/* Build a frame on the guest's stack and point ts at the handler. */
bool sig_setup_frame(struct tstate *ts, const struct sig_action *act, const struct sig_info *info);
/* The guest's alternate stack as sigaltstack(2) would report it. */
bool sig_on_altstack(const struct rt_thread *th, u64 sp);
/* A frame outside of guest memory that rt_sigreturn takes to the guest's state, under this mask. */
const struct sig_frame *sig_native_frame(struct tstate *ts, u64 mask);

/* ---- coredump.c ------------------------------------------------------------------ */
/* A thread that is stopped for good, all signals blocked: wait for the dump, and be part of it. */
void sig_pose(struct tstate *ts) RT_NORETURN;
/* All signals blocked, the default action set: die with the guest's registers
 * in every thread.  Returns if there will be no core file. */
void sig_die_as_guest(struct tstate *ts, int sig, const struct sig_info *info);
bool sig_dumps_core(int sig); /* by default, under the limits that there are */

/* ---- signal_asm.S --------------------------------------------------------------- */
/* What the code in signal_asm.S calls: the kernel's signals arrive in the first; a delivery goes on in the second, on
 * the runtime's stack; a new thread begins in the third. */
void sig_host_handler(int sig, const struct sig_info *info, struct sig_ucontext *uc);
void rt_signal_resume(struct tstate *ts) RT_NORETURN;
void thread_start(struct tstate *ts) RT_NORETURN;
extern char rt_host_entry[], rt_host_restorer[], rt_signal_trampoline[];
void sig_xsave(void *area, u64 features);
void sig_xrstor(const void *area, u64 features);
long sig_clone_call(u64 nr, const u64 args[6], struct tstate *child);
extern char rt_kernel32_begin[], rt_kernel32_insn[], rt_kernel32_abort[];
extern char rt_kernel_abort[], rt_asking_begin[]; /* syscall_asm.S */
void rt_int1(void);                               /* uaccess.S */
extern char rt_int1_after[];
/* Bounds of what lies between translated code and C, half switched. */
extern char __start_rt_border[], __stop_rt_border[];
/* Some of that, which alters no ts->target and ends with a jump there: shadow/moves.S; without a shadow there is none.
 */
extern char rt_short_begin[] __attribute__((weak)), rt_short_end[] __attribute__((weak));
/* A ud2, where a signal has such code arrive. */
extern char rt_arrived[]; /* signal_asm.S */
/* Instructions of the runtime that may fault, and where it goes on then. */
extern const struct sig_fixup {
    u64 insn, resume;
} __start_rt_fixups[], __stop_rt_fixups[];
extern char rt_enter_begin[], rt_enter_end[], rt_enter_restart[]; /* entry.S */

/* ---- thread.c -------------------------------------------------------------------- */
u32 thread_count(void);                        /* entries of the table, free ones too */
void thread_is_named(const struct tstate *ts); /* the supervisor knows a name of its number */
bool thread_is_last(struct tstate *ts);        /* no other living thread of this process */
bool thread_memory_is_shared(void);            /* with a process that goes on when this one ends */
void thread_after_fork(struct tstate *ts);     /* in the child: only ts is left */
void thread_fork_lock(bool lock);              /* around fork: the table is whole */

/* Arguments of every way to make a task: the kernel's struct clone_args. */
struct clone_request {
    u64 flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    u64 set_tid, set_tid_size, cgroup;
};
/* The kernel's call for rq, in the form the guest used (clone3 or clone). */
long clone_call(const struct clone_request *rq, u64 rq_size, struct tstate *child);

/* ---- exec.c ------------------------------------------------------------------------ */
void exec_free(struct tstate *ts);

/* ---- process.c -------------------------------------------------------------------- */
long process_fork(struct tstate *ts, const struct clone_request *rq, u64 rq_size);
/* TracerPid of this thread. */
u32 process_tracer(void);
/* Held from the request that announces descriptors until they have come. */
extern rt_lock_t process_fd_lock;
/* Descriptors from the supervisor over rt.sock_fd; dies if they do not come.
 * false: the limit on open files leaves no room for them, which is told. */
bool process_receive_fds(struct tstate *ts, int *fds, u32 n);
/* Around a request that is answered with descriptors. */
void process_expect_fds(bool begin);

#endif

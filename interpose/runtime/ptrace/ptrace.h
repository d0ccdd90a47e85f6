/* ptrace between two processes of ours: traced.c (the tracee's stops), tracer.c
 * (a tracer's requests), tracer_wait.c (what its waits see), tracer_peer.c (its view of
 * a tracee).  The kernel's own relation of the two is real; docs/architecture.md says
 * which of its stops a tracer is shown.
 */
#ifndef INTERPOSE_TRACE_H
#define INTERPOSE_TRACE_H

#include "runtime/signals/sig.h"

enum rt_stop {
    RT_STOP_NONE,
    RT_STOP_SIGNAL, /* info is a signal that shall be delivered */
    RT_STOP_ENTRY,  /* of a system call */
    RT_STOP_EXIT,
    RT_STOP_SECCOMP, /* a filter wants the tracer to decide */
    RT_STOP_NOTE,    /* a SIGTRAP of ptrace's own: info says which */
    RT_STOP_GROUP,   /* the kernel's stop of the whole process; no info */
    RT_STOP_TRAP,    /* PTRACE_INTERRUPT, or the process's stop in one thread */
    RT_STOP_HELP,    /* not for the tracer's eyes: resume it to the kernel's stops at calls */
    RT_STOP_EVENT,   /* the kernel's, of a task's beginning or end */
    RT_STOP_ANYWHERE /* a stop of the whole process has met the thread: where it is does not matter
                        until somebody looks */
};
enum rt_resume { RT_GO, RT_GO_SYSCALL, RT_GO_STEP, RT_GO_EMULATE };
enum { RT_WANT_STOP = 1, RT_WANT_TRAP = 2 }; /* of rt_trace.wants */

#define RT_TRACE_MAGIC 0x6563617274706e49ull
#define RT_TRACE_FLAGS 16 /* bit of rt_trace.changed; below it those of enum ip_gpr */

/* What a thread and its tracer tell each other.  The tracer writes here while the
 * thread is stopped, and nowhere else but in the guest's registers and rt_thread's
 * pending signal. */
struct rt_trace {
    u64 magic;
    u32 on;          /* a tracer of ours reads this */
    u32 met;         /* the thread has noticed */
    u32 kind;        /* enum rt_stop: where the thread is stopped */
    u32 status;      /* of that stop: signal | event << 8 */
    u32 seq, ack;    /* differ: it waits to be resumed */
    u32 go;          /* enum rt_resume: how it was resumed */
    u32 inject;      /* with which signal */
    u32 options;     /* PTRACE_O_* */
    u32 wants;       /* stops to be made at the next boundary */
    u32 trap_status; /* RT_WANT_TRAP: status of it */
    u32 tracer, uid; /* who sends what is injected */
    u32 helped;      /* that has happened */
    u32 enters;      /* signals came at the entry of a call: they shall be pending when it begins */
    u32 in_call;     /* between entry and exit of a system call */
    u32 dying;       /* the signals to come end it */
    u32 restart;     /* its call was broken off with this (kernel's ERESTART) */
    u32 broken;      /* the last call has no result yet */
    u32 trap_flag;   /* the guest's own */
    u32 forced;      /* rt_thread.trap_flag is the tracer's doing */
    u32 changed;     /* registers that the tracer has set */
    u32 i386;        /* the call of orig_rax is one by int $0x80 */
    u32 asked;       /* a filter's call is judged again */
    u64 message;     /* of PTRACE_GETEVENTMSG, at the stop of a call */
    u64 orig_rax;    /* as ptrace shows it: the call this stop belongs to, ~0 */
    u64 dirty[2];    /* the tracer may have written code in [0], [1] */
    struct sig_info info, stop_info;
};

/* Behind sig_priv in tstate.runtime_area. */
#define RT_TRACE_OFFSET 3584
_Static_assert(SIG_PRIV_OFFSET + sizeof(struct sig_priv) <= RT_TRACE_OFFSET, "sig_priv and rt_trace overlap");
_Static_assert(RT_TRACE_OFFSET + sizeof(struct rt_trace) <= sizeof((struct tstate *)0)->runtime_area,
               "rt_trace does not fit");
static inline struct rt_trace *rt_trace(struct tstate *ts) {
    return (struct rt_trace *)(void *)(ts->runtime_area + RT_TRACE_OFFSET);
}

/* si_code of the SIGTRAPs that the runtime sends; negative: sendable to any thread. */
#define RT_KICK_CODE IP_KICK_CODE /* leave translated code */
#define RT_STOP_CODE (-0x4951)    /* for the tracer: stopped where the guest is */

/* ---- traced.c ------------------------------------------------------------------- */
void traced_init(struct tstate *ts);
/* A fork's child begins; its parent's parent is its own. */
void traced_born(bool siblings);
/* PTRACE_TRACEME has succeeded. */
void traced_by_parent(struct tstate *ts);
/* Before and after the kernel's fork: nobody traces the child unless he says so. */
void traced_fork(struct tstate *ts, bool before);
/* About to deliver info: the tracer decides.  0: nothing; else the signal, *info is its. */
int traced_signal(struct tstate *ts, struct sig_info *info);
/* A stop that the tracer waits for.  true: deliver *info. */
bool traced_wanted(struct tstate *ts, struct sig_info *info);
/* The guest's signal meets a call that was broken off: as the kernel leaves it. */
void traced_broken(struct tstate *ts);
/* A call of our own making is broken off with ERESTARTSYS: answer RT_INTERRUPTED. */
long traced_break(struct tstate *ts);
/* A handler begins, or none does: a call that was broken off fails or begins again. */
void traced_restart(struct tstate *ts, const struct sig_action *handler);
/* A handler's frame is made. */
void traced_handler(struct tstate *ts);
/* Back from a stop that the kernel made. */
void traced_resumed(struct tstate *ts);
/* Around a system call.  traced_entry: false: not to be made. */
bool traced_entry(struct tstate *ts, u64 *next_pc);
void traced_exit(struct tstate *ts);
/* A filter leaves the call to the tracer.  true: judge what is in the registers now; false: *result. */
bool traced_seccomp(struct tstate *ts, u32 data, u64 next_pc, long *result);
/* About to execute a program, which runs natively; it has failed. */
void traced_exec(struct tstate *ts, bool begins);
/* About to make the kernel's call for the one that traced_entry let pass. */
void traced_enter(struct tstate *ts);

/* ---- tracer_peer.c --------------------------------------------------------------- */
struct user_regs { /* struct user_regs_struct */
    u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss, fs_base,
        gs_base, ds, es, fs, gs;
};
_Static_assert(sizeof(struct user_regs) == 216, "struct user_regs_struct");

/* A stopped tracee. */
struct peer {
    u32 tid;
    bool ours;  /* translated: what follows holds */
    u32 kind;   /* RT_STOP_NONE: somewhere else than the guest is */
    bool waits; /* for t.ack */
    u64 ts;     /* its tstate */
    struct user_regs host;
    struct rt_trace t;
};
/* 0, or why there is no such tracee that is stopped. */
long peer_look(u32 tid, struct peer *p);
long peer_read(u32 tid, u64 at, void *to, u64 len);
long peer_write(u32 tid, u64 at, const void *from, u64 len);
void peer_get_regs(const struct peer *p, struct user_regs *r);
long peer_set_regs(struct peer *p, const struct user_regs *r);
/* One 32-bit word of its rt_trace. */
void peer_put(struct peer *p, u32 *field, u32 value);
/* Its tracer is ours from now on. */
void peer_adopt(struct peer *p);
/* Continue, on the way to a stop where the guest is.  info: at the delivery of this signal. */
void peer_bring(struct peer *p, const struct sig_info *info);
/* A call that the kernel has broken off is left; it begins again, or fails, when the guest's
 * tracer has decided. */
void peer_leave_call(struct peer *p);
long peer_ptrace(long request, u32 tid, u64 addr, const void *data);

/* ---- tracer_wait.c ---------------------------------------------------------------- */
/* Wait until the tracee is stopped where the guest is, or ends. */
void tracer_settle(struct tstate *ts, u32 tid);
/* SIGCHLD by a stop that is not for the guest to see, or not yet: it does not come.  false: it comes, *info is
 * about the stop that the guest sees. */
bool tracer_hides(struct tstate *ts, struct sig_info *info);
/* Around what a thread does with stopped tracees: stops that it hears of meanwhile have to wait. */
void tracer_works(struct tstate *ts, bool begins);
/* RT_STOP_ANYWHERE: somebody looks. */
long tracer_bring(struct tstate *ts, struct peer *p);

/* ---- tracer.c --------------------------------------------------------------------- */
/* The tracees of this process that it has named in a request, or been shown. */
struct tracee {
    u32 tid, tracer;
    u32 process; /* of the tracer */
    u32 options;
    u64 ts;
};
struct tracee *tracer_find(u32 tid, bool add);
struct tracee *tracer_by_index(u32 i); /* NULL past the end; tid 0: none */
void tracer_forget(u32 tid);
void tracer_after_fork(void);
#endif

/* What this folder offers to the layers above it, and to its neighbours. */
#ifndef INTERPOSE_SIGNALS_LAYER_H
#define INTERPOSE_SIGNALS_LAYER_H

#include "runtime/seam.h"

/* ---- signal.c, sigdeliver.c, sigaction.c, sigframe.c, sigwait.c --------------------------------- */
void rt_signal_init(struct tstate *ts);
void rt_signal_thread_init(struct tstate *ts);
/* SIGSYS instead of a system call of the guest: si_code, si_syscall, si_errno, si_arch, si_call_addr. */
void rt_signal_sys(struct tstate *ts, int code, int nr, int error, u32 arch, u64 call_addr);
long rt_sys_rt_sigaction(struct tstate *ts);
long rt_sys_rt_sigprocmask(struct tstate *ts);
long rt_sys_rt_sigreturn(struct tstate *ts);
long rt_sys_rt_sigsuspend(struct tstate *ts);
long rt_sys_rt_sigtimedwait(struct tstate *ts);
long rt_sys_rt_sigpending(struct tstate *ts);
long rt_sys_ppoll(struct tstate *ts);
long rt_sys_pselect6(struct tstate *ts);
long rt_sys_epoll_pwait(struct tstate *ts);
long rt_sys_epoll_pwait2(struct tstate *ts);
long rt_sys_io_pgetevents(struct tstate *ts);
long rt_sys_sigaltstack(struct tstate *ts);

/* ---- sigtold.c: one report for one access ----------------------------------------- */
/* Was that access reported before a signal came between, so that it is checked a second time? */
bool rt_told_before(struct tstate *ts, u64 addr);

#endif

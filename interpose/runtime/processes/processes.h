/* What this folder offers to the layers above it, and to its neighbours. */
#ifndef INTERPOSE_PROCESSES_LAYER_H
#define INTERPOSE_PROCESSES_LAYER_H

#include "runtime/seam.h"

/* ---- exec.c: what the runtime carries over an exec of itself ----------------------- */
void rt_carried_over(struct tstate *ts);
/* ---- thread.c, process.c --------------------------------------------------------- */
/* Once, on the main thread: name, ptracer, descriptors that an exec closes. */
void rt_process_init(struct tstate *ts);
struct tstate *rt_thread_new(void); /* tstate, stacks, call stack, slot */
long rt_sys_clone(struct tstate *ts);
long rt_sys_clone3(struct tstate *ts);
long rt_sys_fork(struct tstate *ts);
long rt_sys_vfork(struct tstate *ts);
long rt_sys_execve(struct tstate *ts);
long rt_sys_execveat(struct tstate *ts);
long rt_sys_exit(struct tstate *ts);
long rt_sys_exit_group(struct tstate *ts);
long rt_sys_kill(struct tstate *ts);
long rt_sys_tkill(struct tstate *ts);
long rt_sys_tgkill(struct tstate *ts);
long rt_sys_set_tid_address(struct tstate *ts);
long rt_sys_arch_prctl(struct tstate *ts);
long rt_sys_personality(struct tstate *ts);
long rt_sys_prctl(struct tstate *ts);
long rt_sys_membarrier(struct tstate *ts);
void rt_find_mdwe(void);
void rt_find_tsc(struct tstate *ts); /* of this thread; kept over an exec */
#define PR_PTRACER 0x59616d61
/* Under yama only a named process may read our memory; the kernel's answer, an error without yama. */
long process_name_tracer(void);
/* rt.final_calls: whether a call is left undone, and what it answers.  One that never comes back ends the process. */
bool process_keeps_quiet(struct tstate *ts, long nr, const u64 args[6], long *result);
void rt_exit_process(struct tstate *ts, int status) RT_NORETURN; /* reports, then exits */
void rt_die_by_signal(struct tstate *ts, int sig, int code, u64 addr) RT_NORETURN;

#endif

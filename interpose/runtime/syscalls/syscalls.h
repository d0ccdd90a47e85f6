/* What this folder offers to the layers above it, and to its neighbours. */
#ifndef INTERPOSE_SYSCALLS_LAYER_H
#define INTERPOSE_SYSCALLS_LAYER_H

#include "runtime/seam.h"

/* ---- syscall.c ------------------------------------------------------------------ */
/* The raw kernel entry with the interruptible window (syscall_asm.S): returns
 * the result, or RT_INTERRUPTED if a signal was recorded before the kernel began. */
#define RT_INTERRUPTED (-4096L)
/* Answer of a rt_sys_ function that has set the whole guest state itself
 * (rt_sigreturn, a failed frame): rax, rcx, r11 and pc stay as they are.  A
 * rt_sys_ function may also answer RT_INTERRUPTED: deliver, then execute again. */
#define RT_NO_RESULT (-4097L)
long rt_kernel(struct rt_thread *th, long nr, const u64 args[6]);
long rt_kernel32(struct rt_thread *th, long nr, const u64 args[6]);
/* procfs.c: a path of the guest's leads through /proc/.../exe. */
bool rt_names_own_exe(int dirfd, u64 guest_path);
void rt_learn_own_exe(void);
void rt_cache_for_perf(void);   /* identity.c; the cache is mapped */
extern bool rt_exe_is_programs; /* identity.c: what is there is the program for everybody */
/* procfs_read.c: a descriptor has a copy; the child of a fork begins. */
void rt_proc_copied(int from, int to);
void rt_proc_after_fork(void);
bool rt_fd_is_ours(int fd); /* syscall_fd.c */
bool rt_fd_is_open(int fd); /* by the program */
/* Slots in the table of descriptors as the kernel would have made it without ours, 0: nobody can tell (no /proc, no
 * number free); and how many of the descriptors that select names it would look at. */
u64 rt_fd_slots(void);
u64 rt_fds_selected(u64 n);
long rt_sys_io_destroy(struct tstate *ts);
/* descriptors.c: with --track-fds, note what is open as the program begins, and tell it as this process ends; a table
 * is copied, for a process on our memory or for this thread: the copy's number; no task has that one any more. */
void rt_fds_begin(struct tstate *ts);
void rt_fds_end(struct tstate *ts);
u32 rt_fds_copied(struct tstate *ts);
void rt_fds_dropped(u32 files);
void rt_fds_fork_lock(bool take);
/* While descriptors arrive, at the lowest numbers that are free, other threads neither close nor take a number. */
void rt_fds_arrive(struct tstate *ts, bool begin);
/* Descriptors that a child is made with, from when they came until it has them: ours, too, out of the program's way.
 * Afterwards they are forgotten, and closed here if nobody else does.  Under process_fd_lock. */
#define RT_PASSING_FDS 4
extern int rt_passing_fds[RT_PASSING_FDS];
void rt_pass_fds(const int fds[RT_PASSING_FDS]);
void rt_passed_fds(bool close);
/* While they are held, none of our descriptors gets another number because the program wants that one. */
void rt_hold_descriptors(bool hold);
/* tracer.c: by process_vm_writev, or (0) by a memory file of another process. */
void rt_may_write_others(u32 pid);
extern char rt_kernel_begin[], rt_kernel_insn[], rt_kernel_end[];
/* The same, subject to the guest's filters in the kernel (seccomp.c). */
long rt_asking_kernel(struct rt_thread *th, long nr, const u64 args[6]);
extern char rt_asking_insn[];

#endif

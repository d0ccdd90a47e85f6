/* What this folder offers to the layers above it, and to its neighbours. */
#ifndef INTERPOSE_MEMORY_LAYER_H
#define INTERPOSE_MEMORY_LAYER_H

#include "runtime/seam.h"

/* ---- mm.c and mm_*.c: who owns which address ----------------------------------- */
extern struct rt_seg *rt_segs;
extern u32 rt_nsegs;
extern u32 rt_objects_gone; /* how often code that the supervisor knew was unmapped or replaced */
extern char *rt_paths;
/* Where the stack's mapping begins for the program (ours is mapped beyond what was used). */
u64 rt_stack_shown(const struct rt_seg *s);
void rt_mm_init(struct tstate *ts);
/* The table's lock: fork takes it, so that the child does not inherit it held. */
void rt_mm_lock(void);
void rt_mm_unlock(void);
long rt_sys_mmap(struct tstate *ts);
long rt_sys_munmap(struct tstate *ts);
long rt_sys_mprotect(struct tstate *ts);
long rt_sys_mremap(struct tstate *ts);
long rt_sys_brk(struct tstate *ts);
long rt_sys_shmat(struct tstate *ts);
long rt_sys_shmdt(struct tstate *ts);
long rt_sys_io_setup(struct tstate *ts);
void rt_ring_gone(struct tstate *ts, u64 ring); /* io_destroy has unmapped it */
long rt_sys_pkey_mprotect(struct tstate *ts);
long rt_sys_mseal(struct tstate *ts);
long rt_sys_madvise(struct tstate *ts);
long rt_sys_mincore(struct tstate *ts);
long rt_sys_mlockall(struct tstate *ts);
long rt_sys_munlockall(struct tstate *ts);
/* A fault just below a MAP_GROWSDOWN mapping: grow it; true if addr is mapped now. */
bool rt_grow_stack(struct tstate *ts, u64 addr);
/* Whether addr lies between RSP and the end of the stack in use, below which nothing is. */
bool rt_overflows_stack(struct tstate *ts, u64 addr);
/* A write fault at addr: if it is ours (protected code page), restore W, drop
 * the translations, return true. */
bool rt_code_page_fault(struct tstate *ts, u64 addr);
/* The kernel is about to write there: the same for a whole buffer. */
void rt_open_code_pages(struct tstate *ts, u64 addr, u64 len);
bool rt_have_code_pages(void);
/* A system call has succeeded: did it, or may it from now on, write to code unnoticed? */
void rt_files_after(struct tstate *ts, long nr, const u64 args[6], long result);
/* Guest memory for the runtime's use in the client's range (heap); 0: there is none. */
u64 rt_map_client(u64 hint_low, u64 len, int prot);
/* Whole pages of such memory go to where more of it is, whose contents are lost; zeros take their place.  False: these
 * cannot, and are where they were. */
bool rt_move_pages(u64 to, u64 from, u64 len);
/* ---- limits.c: RLIMIT_AS and RLIMIT_DATA without our own memory ------------------ */
void rt_limits_init(void);
bool rt_capable(u32 which); /* below 32 */
bool rt_guest_limit(u32 which, u64 *cur, u64 *max);
void rt_limits_before_exec(struct rt_thread *th);
void rt_limits_after_exec(struct rt_thread *th);
/* The same for an image of ours, which lifts them again. */
#define RT_LIMITS_BYTES 32
void rt_limits_save(struct rt_thread *th, void *to);
void rt_limits_restore(const void *from);
long rt_sys_getrlimit(struct tstate *ts);
long rt_sys_setrlimit(struct tstate *ts);
long rt_sys_prlimit64(struct tstate *ts);
/* Those of i386: two words; what does not fit shows as highest. */
long rt_set_limit32(struct tstate *ts, u32 which, u64 at);
long rt_get_limit32(struct tstate *ts, u32 which, u64 at, u32 highest);
/* RLIMIT_NOFILE as high as may be for a moment; false: as it was. */
struct rlimit64;
bool rt_more_files(struct rlimit64 *before);
void rt_files_as_before(const struct rlimit64 *before);

#endif

/* Memcheck in the client: what the parts of this folder share. */
#ifndef INTERPOSE_MEMCHECK_H
#define INTERPOSE_MEMCHECK_H

#include "runtime/base/rt.h"
#include "tools/memcheck/memcheck_abi.h"

/* requests.c: requests about V and A bits and about heap blocks; false: not one of them. */
bool mc_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result);
/* syscall_check.c: arguments of system calls, before and after. */
void mc_syscall_before(struct tstate *ts, long nr, const u64 args[6]);
void mc_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result);

/* ignored.c: where invalid accesses are not reported.  The answer to the request; 0: an empty range. */
u64 mc_ignore_range(struct tstate *ts, u64 lo, u64 len, bool ignore);
bool mc_is_ignored(struct tstate *ts, u64 addr, u64 n);
void mc_options_changed(void);
extern rt_lock_t mc_ignored_lock;

/* described.c: CREATE_BLOCK and DISCARD; false: neither of them. */
bool mc_described_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result);

/* hooks.c */
extern struct mc_root mc_root;

#endif

/* Which arguments a system call has that does several things (syscall_uses.c). */
#ifndef INTERPOSE_SYSCALL_USES_H
#define INTERPOSE_SYSCALL_USES_H

#include "runtime/base/rt.h"

/* Does the call look at argument i, going by the arguments before it?  What it has
 * no use for may hold anything: the C library's variadic functions pass what they find. */
bool sh_syscall_uses(long nr, const u64 args[6], u32 i);
/* Does the call look at argument i, marked ~ in syscalls.def? */
bool sh_condition_holds(long nr, const u64 args[6], u32 i);
/* Is it an operation of futex's? Of others the kernel looks at no memory. */
bool sh_futex_knows(u64 op);
/* Is the fourth argument of futex a time, not the number of a requeue operation? */
bool sh_futex_waits(u64 op);

#endif

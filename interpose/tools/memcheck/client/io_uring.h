/* What io_uring reads and writes of the program's memory (io_uring.c). */
#ifndef INTERPOSE_SHADOW_IO_URING_H
#define INTERPOSE_SHADOW_IO_URING_H

#include "runtime/base/rt.h"

struct call;
extern rt_lock_t sh_uring_lock;
/* Before a system call: what the requests that it hands over read and write is tested, and what they write becomes
 * defined. */
void uring_before(struct call *c);
/* After one that succeeded: a new ring, one that is mapped, or buffers for it. */
void uring_after(long nr, const u64 args[6], long result);

#endif

/* What io_uring writes into the program's memory (io_uring.c). */
#ifndef INTERPOSE_SHADOW_IO_URING_H
#define INTERPOSE_SHADOW_IO_URING_H

#include "runtime/base/rt.h"

extern rt_lock_t sh_uring_lock;
/* Before a system call: buffers of requests that it hands over become defined, through `defined`. */
void uring_before(long nr, const u64 args[6], void (*defined)(struct tstate *, u64, u64), struct tstate *ts);
/* After one that succeeded: a new ring, or one that is mapped. */
void uring_after(long nr, const u64 args[6], long result);

#endif

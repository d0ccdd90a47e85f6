/* io_destroy: the kernel waits for what is under way, and unmaps the ring (mm_remap.c). */
#include <asm/unistd.h>

#include "runtime/memory/memory.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/syscalls.h"

long rt_sys_io_destroy(struct tstate *ts) {
    u64 args[6] = {ts->gpr[IP_RDI]};
    long r = sig_wait_here(ts, __NR_io_destroy, args);
    if (r == 0) rt_ring_gone(ts, args[0]);
    return r;
}

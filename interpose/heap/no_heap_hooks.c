/* What happens where a tool takes no interest in the heap's memory: the weak definitions of its hooks. */
#include "heap/heap_hooks.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NOTHING __attribute__((weak))

NOTHING bool heap_hook_hold(struct tstate *ts) { return true; }
NOTHING void heap_hook_let_go(void) {}
NOTHING void heap_hook_allocated(u64 addr, u64 size, bool zeroed) {}
NOTHING void heap_hook_span(u64 addr, u64 size) {}
NOTHING void heap_hook_idle(u64 addr, u64 size) {}
NOTHING bool heap_hook_alike(u64 addr, u64 bytes, u64 stride, u64 offset, u64 size) { return false; }
NOTHING void heap_hook_end_alike(u64 addr, u64 bytes) {}
NOTHING bool heap_hook_zeros(u64 addr, u64 size) { return false; }
NOTHING void heap_hook_end_zeros(u64 addr, u64 size) {}
NOTHING void heap_hook_expected(u64 addr) {}
NOTHING void heap_hook_released(u64 addr, u64 size, bool idle) {}
NOTHING void heap_hook_state(u64 addr, u64 size, int state) {}
NOTHING bool heap_hook_may_access(struct tstate *ts, u64 addr, u64 n) { return true; }
NOTHING void heap_hook_copied(struct tstate *ts, u64 dst, u64 src, u64 n) {}
NOTHING void heap_hook_moved(struct tstate *ts, u64 dst, u64 src, u64 n) {}
NOTHING void heap_hook_filled(u64 dst, u64 byte_at, u64 n) {}
NOTHING u64 heap_hook_defined(u64 addr, u64 n) { return n; }

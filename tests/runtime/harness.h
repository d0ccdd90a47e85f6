/* Freestanding test programs around the runtime's memory manager and loader:
 * what the other parts of the runtime would do, observed instead of done. */
#ifndef HARNESS_H
#define HARNESS_H

#include <asm/unistd.h>
#include <linux/mman.h>

#include "runtime/memory/mm.h"

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Called by the stubs of harness.c. */
extern void (*on_request)(u32 kind, const struct ip_slot *slot);
extern void (*on_shadow)(int change, u64 addr, u64 len); /* 1 mapped, -1 unmapped */
extern void (*on_invalidate)(u64 addr, u64 len);
extern u64 invalidations;

#endif

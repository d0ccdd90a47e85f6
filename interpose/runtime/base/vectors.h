/* The guest's vector and mask registers.  The runtime is built without vector instructions, so while it runs they
 * still hold what the guest left there. */
#ifndef RT_VECTORS_H
#define RT_VECTORS_H
#include "runtime/base/rt.h"

/* As much of the register as the CPU has, to 64 bytes at p. */
void rt_vector(u8 *p, unsigned r);
u64 rt_mask(unsigned r);
#endif

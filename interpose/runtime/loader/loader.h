/* What this folder offers to the layers above it, and to its neighbours. */
#ifndef INTERPOSE_LOADER_LAYER_H
#define INTERPOSE_LOADER_LAYER_H

#include "runtime/seam.h"

/* ---- loader.c ----------------------------------------------------------------- */
/* Map the program (chan->prog) and its interpreter, build the initial stack from
 * the one the kernel gave us, set ts->pc and ts->gpr[IP_RSP]. */
void rt_load_program(struct tstate *ts, u64 *kernel_sp);
/* Map a shared image of ours (stubs) low; returns its base. */
u64 rt_load_image(struct tstate *ts, const char *path);

#endif

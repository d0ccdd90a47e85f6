/* Inside of the debugger's side in the client. */
#ifndef INTERPOSE_DEBUG_H
#define INTERPOSE_DEBUG_H

#include "runtime/seam.h"

/* The vector registers as they are now: xsave, at, components. */
void debug_show_vectors(struct ip_debug_state *d);

/* A child of vfork is on its parent's memory, and the calls at the end are not the program's. */
static inline bool debug_is_followed(struct tstate *ts) { return !rt_th(ts)->vfork_child && !rt.final_calls; }

#endif

/* What this layer asks a tool that traces; the linker binds it. */
#ifndef INTERPOSE_TRACE_HOOKS_H
#define INTERPOSE_TRACE_HOOKS_H

#include "runtime/base/rt.h"

/* The tool's: records [from, to), whole ones.  Called in the thread that they are of, or, when the process ends, in
 * another one while it rests; never from a signal handler. */
void tr_consume(struct tstate *ts, const u64 *from, const u64 *to);

#endif

/* The supervisor's hold of the memory files (tables.c). */
#ifndef INTERPOSE_JIT_TABLES_H
#define INTERPOSE_JIT_TABLES_H

#include "jit/transtab.h"

struct tt_memory;
struct memory_files {
    int chan, cache, meta; /* descriptors */
};
/* Have them at hand, with empty tables.  0 or -errno. */
int tt_map(const struct memory_files *files, struct ip_chan **chan, struct transtab **table);
/* Other files in their place, for a program that was executed: nothing of the translations is left, but the options
 * are. */
int tt_map_anew(const struct memory_files *files);
/* The same with all that is in those that are at hand, one of which is old_meta: the lock is held by whoever has
 * forked. */
int tt_copy(const struct memory_files *files, int old_meta);
/* If the tool traces: have templates, and what they are made by, in the memory that is at hand (trace.h). */
void tt_begin_tracing(void);
void tt_trace_in(struct tt_memory *memory); /* functions_set.c */
/* Files of the translations that outlast the run. */
struct keeping *tt_keeping(void);

#endif

/* The tags of the program's memory (origin.h), by granules of four bytes.  All of it under origin_lock. */
#ifndef INTERPOSE_ORIGIN_TABLE_H
#define INTERPOSE_ORIGIN_TABLE_H

#include "runtime/base/rt.h"

/* The tag of addr, or 0; if there is one and owner is not NULL: who owned the granule when it was set. */
u32 origin_tag(u64 addr, u32 *owner);
/* The granules of [lo, hi) have this tag; owner: which frame holds them, NULL: none. */
void origin_set_tags(u64 lo, u64 hi, u32 tag, const u32 *owner);
/* The granules of [lo, hi) have none. */
void origin_forget_tags(u64 lo, u64 hi);

#endif

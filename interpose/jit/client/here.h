/* A tool whose blocks are translated in the program's process says so in its client part, once. */
#ifndef INTERPOSE_JIT_CLIENT_HERE_H
#define INTERPOSE_JIT_CLIENT_HERE_H

#include "runtime/hooks.h"

/* rt_hook_translator by the translator's stages in this process. */
bool ip_translate_here(struct tstate *ts, u32 kind);

#define IP_TRANSLATES_HERE                                                                                             \
    bool rt_hook_translator(struct tstate *ts, u32 kind) { return ip_translate_here(ts, kind); }

#endif

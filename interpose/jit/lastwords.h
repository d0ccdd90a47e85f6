/* The end of a supervisor that cannot go on, and memory that is there or ends it. */
#ifndef INTERPOSE_LASTWORDS_H
#define INTERPOSE_LASTWORDS_H

#include <stddef.h>
#include <stdint.h>

#include "jit/native_api.h"
#include "jit/ways.h"

/* The channel that is told; NULL before there is one. */
void ip_last_words_chan(struct ip_chan *chan);
/* As ip_alloc: grown. */
void *ip_realloc(void *old, size_t bytes);
/* The translator cannot be right: tell what, and the block under way, and end. */
_Noreturn void ip_internal_error(const char *what);
/* service.c, without its lock: the block under way and its stages. */
uint64_t ip_newest_key(void);
int ip_newest_stages(char *buf, int cap);

#endif

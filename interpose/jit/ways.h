/* What the translator asks the process for that it runs in: the supervisor (lastwords.c, peek.c, stagetrace.c, keep.c),
 * or the program's (client/ways.c), where there is no libc. */
#ifndef INTERPOSE_JIT_WAYS_H
#define INTERPOSE_JIT_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_copies;
struct ip_chan;
struct tracing;
struct transtab;
struct ublock;

/* Memory of the program as it is now: n bytes, or false. */
bool tt_peek(void *ctx, uint64_t at, void *out, int n);
/* Where this process keeps copies of the program's code. */
const struct code_copies *tt_code_copies(struct transtab *t);
/* A clock. */
uint64_t tt_now_ms(void);
/* Zeroed, or the end. */
void *ip_alloc(size_t n, size_t size);
/* Its tables are full: the end. */
_Noreturn void tt_no_room(void);
/* A uop or stub of the block, by its name and number, is none that code is written for: the end. */
_Noreturn void tt_no_code(uint64_t key, const char *name, int number);
/* NULL: there is none, the stages run for themselves. */
struct ip_chan *tt_channel(void);
/* Look at what a stage has left behind; at whether code that is moved is what would be made there. */
void tt_stage_done(struct transtab *t, int stage, const struct ublock *b);
void tt_verify_moved(struct transtab *t);
/* Of tools that trace: what the stage knows, and room for the block under way (trace.h). */
struct tracing *tt_tracing(void);
void *tt_trace_scratch(void);
/* Do two addresses belong to different functions? */
bool tt_are_apart(uint64_t pc, uint64_t home);
/* Take what is kept of the key, and what was made beside it; false: there is nothing (keep.h). */
bool keep_take(struct transtab *t, uint64_t key);
/* How many chunks it may be worth to take now behind that one, while nobody asks.  Take one; false: there is none. */
int keep_much_ahead(const struct transtab *t);
bool keep_ahead(struct transtab *t);

#endif

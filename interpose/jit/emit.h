/* Stage 6, between its parts: the state of one emission, exits and stubs. */
#pragma once
#include <stddef.h>

#include "jit/asm.h"

/* Exit kinds from 64 on are slow-path sites: the runtime does something and
 * resumes at ip_exit.patch. */
#define OFF(f)       ((uint32_t)offsetof(struct tstate, f))
#define SLOT(r)      ((uint32_t)(8 * (r)))
#define SYM(w, s)    ((uint32_t)(w)->o->sym[s])
#define MAX_STUBS    1024
#define MAX_LITERALS 128
#define CC_NZ        5

enum stub_kind { ST_EXIT, ST_SLOW, ST_TRACK, ST_MISS, ST_CSYNC, ST_REDZONE, ST_TARGET };

struct stub {
    uint8_t kind, exit_kind, via_t, t0;
    uint16_t spilled;
    uint16_t size;
    int16_t insn;
    int exit;        /* index into e->exits */
    uint32_t from;   /* offset of the rel32 that comes here */
    uint32_t resume; /* offset to resume at */
    struct uaddr m;
    uint64_t pc;
};

struct em {
    struct writer w;
    struct stub stubs[MAX_STUBS];
    int n_stubs;
    int cur_insn;                                         /* guest instruction whose point was last recorded */
    int join_first;                                       /* stubs waiting for their TJOIN */
    bool shadow, callstack, callers, bmi2, gsbase, exact; /* callers: those of this bare block keep a call stack */
    int n_literals;
    struct {
        uint32_t at;
        uint64_t value;
    } literals[MAX_LITERALS];
};

struct slow_site {
    int kind; /* ST_SLOW or ST_TRACK */
    int exit_kind;
};

void em_point(struct em *m, int insn, uint16_t spilled, unsigned flags);
int em_add_exit(struct em *m, uint64_t key, int kind, uint32_t aux);
struct stub *em_add_stub(struct em *m, int kind);
void em_direct_exit(struct em *m, uint64_t key, int cc, int insn);
void em_to_stub(struct em *m, struct stub *s, int cc);
void em_sh_fill(struct writer *w, const struct uaddr *a, unsigned size, unsigned byte);
void em_check_zero(struct em *m, const struct uinstr *u, const struct slow_site *site);
void em_check_mask(struct em *m, const struct uinstr *u, const struct slow_site *site);
void em_check_entry(struct em *m);
uint32_t em_stale_exit(struct em *m);
void em_recheck(struct em *m, uint32_t stale);
void em_push_return(struct em *m, uint64_t pc);
void em_ret(struct em *m, const struct uinstr *u);
void em_jmpi(struct em *m, const struct uinstr *u);
void em_runtime_exit(struct em *m, uint64_t key, int kind, uint32_t aux);
void em_slow_call(struct em *m, const struct uinstr *u, int kind, uint64_t key);
void em_count(struct em *m, const struct uinstr *u);
void em_id_and_jump(struct em *m, int x, int sym);

/* Stage 6, between its parts: the state of one emission, exits and stubs. */
#pragma once
#include <stddef.h>

#include "abi/channel.h"
#include "abi/trace.h"
#include "abi/tstate.h"
#include "jit/copy.h"
#include "jit/ucode.h"
#include "jit/writer.h"

#define MAX_STUBS    1024
#define MAX_LITERALS 128
#define CC_ALWAYS    (-1)

enum stub_kind { ST_EXIT, ST_SLOW, ST_TRACK, ST_OVERWRITE, ST_RETURN, ST_TARGET, ST_FULL, ST_SIDE, ST_ARRIVE, ST_LEFT };

struct stub {
    uint8_t kind, exit_kind, via_t, fl_live;
    uint16_t spilled;
    uint16_t joined; /* TRACK, OVERWRITE: registers that are in their slots at resume */
    uint16_t size;
    int16_t insn;
    int exit;        /* index into e->exits */
    uint32_t from;   /* offset of the rel32 that comes here */
    uint32_t resume; /* offset to resume at */
    uint32_t past;   /* OVERWRITE: offset behind the guard; RETURN: of the comparison */
    struct uaddr m;
    uint64_t pc; /* OVERWRITE: the guard's set */
};

struct em {
    struct writer w; /* into e->code */
    struct emitted *e;
    const struct ublock *b;
    const struct ip_jit_opts *o;
    struct stub stubs[MAX_STUBS];
    int n_stubs;
    int cur_insn;   /* guest instruction whose point was last recorded */
    int guarded;    /* that whose V bits were last checked or computed */
    int join_first; /* stubs waiting for their TJOIN */
    bool shadow, callstack, callers, bmi2, gsbase,
        notes_jumps; /* callers: those of this bare block keep a call stack */
    bool counts;     /* runs are counted in line: */
    struct {
        uint32_t word, active, site, insns; /* words of the template, the last two from the first on; 0: none */
        uint32_t end;                       /* offset behind the counting */
        uint16_t spilled;                   /* there */
        int kind;                           /* enum run_kind */
    } run;
    int record_reg; /* holds tstate.tr_ptr, or IP_REG_NONE */
    int n_literals;
    struct {
        uint32_t at;
        uint64_t value;
    } literals[MAX_LITERALS];
};

/* What a check that fails leads to. */
struct slow_site {
    enum stub_kind kind;
    enum ip_exit_kind exit_kind;
};

/* A field of struct tstate, to which FS points while guest code runs. */
#define STATE(field) state_at(offsetof(struct tstate, field))
static inline struct uaddr state_at(size_t offset) { return addr_in_seg(addr_absolute((int64_t)offset), IP_SEG_FS); }
/* Where a register's guest value is while it is spilled. */
static inline struct uaddr slot_of(int reg) { return state_at(offsetof(struct tstate, gpr) + 8u * (unsigned)reg); }
static inline struct uaddr seg_base(unsigned seg) { return seg == IP_SEG_FS ? STATE(client_fs) : STATE(client_gs); }

static inline void save_reg(struct writer *w, int reg) { put_store(w, 8, slot_of(reg), reg); }
static inline void restore_reg(struct writer *w, int reg) { put_load(w, 8, reg, slot_of(reg)); }
/* The address itself. */
static inline void put_address(struct writer *w, int dst, struct uaddr m) { put_lea(w, m.addr32 ? 4 : 8, dst, m); }
static inline void put_jmp_sym(struct em *m, enum ip_sym sym) { put_jmp(&m->w, (uint32_t)m->o->sym[sym]); }

_Static_assert(IP_RAX == 0 && IP_R15 == 15 && sizeof((struct tstate *)0)->gpr == 16 * 8,
               "ORDER ip_gpr: slots, encodings");
_Static_assert(sizeof(struct tstate) <= INT32_MAX, "fields are reached by 32 bits of displacement");

/* Sets of registers in their slots. */
#define RCX_RDX     (REG_BIT(IP_RCX) | REG_BIT(IP_RDX))
#define RAX_RCX_RDX (REG_BIT(IP_RAX) | RCX_RDX)

void em_point(struct em *m, int insn, uint16_t spilled, unsigned flags);
int em_add_exit(struct em *m, uint64_t key, int kind, uint32_t aux);
struct stub *em_add_stub(struct em *m, int kind);
void em_to_stub(struct em *m, struct stub *s, int cc);
void em_sh_fill(struct em *m, struct uaddr a, unsigned size, unsigned byte);
void em_check_zero(struct em *m, const struct uinstr *u, struct slow_site site);
void em_check_mask(struct em *m, const struct uinstr *u, struct slow_site site);
void em_check_entry(struct em *m);
void em_lead_entry(struct em *m, uint32_t to);
uint32_t em_stale_exit(struct em *m);
/* recheck.c: compare the block's bytes with those in memory; to offset stale when they differ. */
void em_recheck(struct em *m, uint32_t stale);
void em_push_return(struct em *m, uint64_t pc);
void em_ret(struct em *m, const struct uinstr *u);
void em_return_stub(struct em *m, const struct stub *s);
void em_jmpi(struct em *m, const struct uinstr *u);
/* Leave through exit x by way of one of the runtime's stubs. */
void em_leave(struct em *m, int x, enum ip_sym sym);
/* The exit's number, or the address of an offset in this code, to a field of the state. */
void em_note_exit(struct em *m, struct uaddr field, int x);
/* The latter returns where the address is written, for writer_bind_address. */
uint32_t em_note_place(struct em *m, struct uaddr field, uint32_t to);
/* The same for the runtime to do something and come back to what follows. */
void em_slow_call(struct em *m, enum ip_sym sym, int kind, uint64_t key, uint32_t aux);
void em_count(struct em *m, const struct uinstr *u);
int em_direct_exit(struct em *m, uint64_t key, int cc, int insn);
void em_save_all(struct writer *w, uint16_t regs);
void em_restore_all(struct writer *w, uint16_t regs);
/* emit_track.c: guards of tracking translations. */
bool em_may_overwrite(const struct em *m, const struct uinstr *u);
void em_overwrite_stub(struct em *m, const struct stub *s);
void em_track_stub(struct em *m, const struct stub *s);
/* The address of an instruction's operand, which has no prefix of its own. */
void em_put_operand_address(struct writer *w, int dst, struct uaddr m);
/* emit_arith.c: the operands of what IP_SYM_ARITH settles, and which entry does; false: it is something else. */
bool em_arith_operands(struct em *m, const struct stub *s, unsigned *entry);
/* emit_count.c: runs counted in line. */
void em_arrive(struct em *m, const struct uinstr *u);
void em_run(struct em *m, const struct uinstr *u);
void em_side(struct em *m, const struct uinstr *u);
void em_arrive_stub(struct em *m, const struct stub *s);
void em_left_stub(struct em *m, const struct stub *s);
/* A block without a template: nobody has left for the next one. */
void em_uncounted(struct em *m);
/* The block's end may leave its context (IP_CT_KIND). */
void em_leave_context(struct em *m, unsigned kind);

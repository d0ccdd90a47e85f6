/* UCode: the translator's intermediate form (docs/translation.md), in copy-and-annotate form: guest
 * registers live in the host registers of the same name, a guest instruction is
 * one uinstr, and everything added around it is expressed by the uinstrs of this
 * table.
 */
#ifndef INTERPOSE_UCODE_H
#define INTERPOSE_UCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi/exits.h"
#include "abi/meta.h"
#include "abi/x86_insn.h"
#include "jit/address.h"

/* What a uop does beyond its operands. */
enum uop_effect {
    UE_GUEST = 1,    /* carries out a guest instruction, or the last part of one */
    UE_END = 2,      /* leaves the block for good */
    UE_ENTRY = 4,    /* belongs before the first guest instruction */
    UE_CHECK = 8,    /* tests something, V bits mostly, and leaves by a stub; clobbers flags that are dead, takes the
                        flagless form and RCX when they live */
    UE_TEMP = 16,    /* gives the address temporary its value */
    UE_WHOLE = 32,   /* needs every guest register in its host register */
    UE_CLEAN = 64,   /* of clean translations only */
    UE_TRACK = 128,  /* of tracking translations only */
    UE_SCRATCH = 256 /* needs a register for itself (t0) */
};

/* Which fields of a uinstr a uop has; the others are empty. */
enum uop_operand {
    UO_MEM = 1,       /* m */
    UO_VIA = 2,       /* via_t: the memory operand may be [temporary] */
    UO_SIZE = 4,      /* size: bytes of the access */
    UO_WORD = 8,      /* size: 4 or 8 */
    UO_LAYOUT = 16,   /* size: enum ip_x87_layout */
    UO_IMM = 32,      /* imm */
    UO_SET = 64,      /* set */
    UO_REG = 128,     /* reg */
    UO_SEG = 256,     /* seg: FS or GS */
    UO_ANY_SEG = 512, /* seg: FS, GS or none */
    UO_CC = 1024,     /* kind: enum ip_cc */
    UO_EXIT = 2048,   /* kind: enum ip_exit_kind */
    UO_RUN = 4096     /* kind: enum run_kind */
};

/* The one table of uops: name, text, the first stage after which it may be there, effects, operands. */
#define UCODE_OPS(X)                                                                                                   \
    /* expressed by stage 1 */                                                                                         \
    X(INSN, "INSN", 1, UE_GUEST, UO_VIA | UO_ANY_SEG)                           /* guest instruction, copied */        \
    X(SEGEA, "SEGEA", 1, UE_TEMP, UO_MEM | UO_ANY_SEG)                          /* t0 = client fs/gs base + address */ \
    X(FAREA, "FAREA", 1, UE_TEMP, UO_IMM)                                       /* t0 = rip-relative target, far */    \
    X(RDSEG, "RDSEG", 1, UE_GUEST, UO_REG | UO_SEG | UO_WORD)                   /* rdfsbase, rdgsbase */               \
    X(WRSEG, "WRSEG", 1, UE_GUEST | UE_WHOLE, UO_REG | UO_SEG | UO_WORD)        /* wrfsbase, wrgsbase */               \
    X(COUNT, "COUNT", 1, UE_ENTRY | UE_SCRATCH, UO_IMM)                         /* --stop-after countdown */           \
    X(SETNR, "SETNR", 1, UE_ENTRY, UO_IMM)                                      /* nraddr = imm (wrap entry) */        \
    X(FPSAVE, "FPSAVE", 1, UE_WHOLE, UO_MEM | UO_ANY_SEG | UO_LAYOUT)           /* x87 pc in what was stored */        \
    X(GETNR, "GETNR", 1, UE_GUEST, 0)                                           /* rax = nraddr */                     \
    X(JMP, "JMP", 1, UE_END | UE_GUEST | UE_WHOLE, UO_IMM | UO_SET)             /* to imm; set: see RUN */             \
    X(JCC, "JCC", 1, UE_GUEST | UE_WHOLE, UO_IMM | UO_CC | UO_SET)              /* side exit to imm on cc; set: see    \
                                                                                   RECORD, RUN */                      \
    X(LOOPX, "LOOP", 1, UE_GUEST | UE_WHOLE, UO_IMM)                            /* loop, loopcc, jrcxz to imm */       \
    X(CALL, "CALL", 1, UE_END | UE_GUEST | UE_WHOLE, UO_IMM | UO_SET)           /* push return pc (set), to imm */     \
    X(JMPI, "JMPI", 1, UE_END | UE_GUEST, UO_MEM | UO_VIA | UO_SET | UO_IMM)    /* indirect jump, most often to imm */ \
    X(CALLI, "CALLI", 1, UE_END | UE_GUEST, UO_MEM | UO_VIA | UO_SET)           /* indirect call, return pc in set */  \
    X(RET, "RET", 1, UE_END | UE_GUEST | UE_WHOLE, UO_IMM)                      /* return, imm extra bytes */          \
    X(EXIT, "EXIT", 1, UE_END | UE_GUEST | UE_WHOLE, UO_IMM | UO_SET | UO_EXIT) /* to the runtime: syscall, ... */     \
    X(REQUEST, "REQUEST", 1, UE_GUEST | UE_WHOLE, UO_IMM | UO_SET)              /* a client request of set bytes, and  \
                                                                                   on behind it */                     \
    /* added by stage 3 */                                                                                             \
    X(UMASK, "UMASK", 3, UE_CHECK | UE_ENTRY | UE_CLEAN, UO_SET | UO_IMM) /* any of set undefined: on at imm */        \
    X(LDCHK, "LDCHK", 3, UE_CHECK | UE_CLEAN, UO_MEM | UO_VIA | UO_SIZE)  /* V(mem) == 0, clean load */                \
    X(STCHK, "STCHK", 3, UE_CHECK | UE_CLEAN, UO_MEM | UO_VIA | UO_SIZE)  /* V(mem) == 0 or mark, clean */             \
    X(STKDEF, "STKDEF", 3, 0, UO_MEM | UO_VIA | UO_SIZE)                  /* V(mem) = 0, no compare */                 \
    X(STKUND, "STKUND", 3, 0, UO_MEM | UO_SIZE)                           /* V(mem) = all ones: given back */          \
    X(SPSAVE, "SPSAVE", 3, 0, 0)                                          /* remember RSP before it changes */         \
    X(SPCHG, "SPCHG", 3, UE_WHOLE, UO_IMM)                                /* RSP changed by an unknown amount */       \
    X(CSPUSH, "CSPUSH", 3, UE_SCRATCH, UO_IMM)                            /* call stack: push imm */                   \
    X(TALLY, "TALLY", 3, UE_SCRATCH, UO_IMM)                              /* one more in the channel's counter imm */  \
    X(RECORD, "RECORD", 3, UE_ENTRY | UE_SCRATCH, UO_IMM | UO_SET) /* a run of the block with template imm: set is its \
                                                                      bytes << 32 | its head's high half; of a JCC:    \
                                                                      the distance of that half from the end << 32 |   \
                                                                      what it becomes there */                         \
    X(RECWORD, "RECWORD", 3, UE_SCRATCH, UO_MEM | UO_IMM) /* m's register to imm bytes before the record's end */      \
    X(RECZF, "RECZF", 3, UE_SCRATCH, UO_IMM)              /* the zero flag, as 0 or 1, likewise */                     \
    X(RECADDR, "RECADDR", 3, UE_SCRATCH, UO_MEM | UO_IMM | UO_SET | UO_REG) /* m's address likewise; also to set bytes \
                                                                               before the end, if not 0 */             \
    X(RECSOME, "RECSOME", 3, UE_WHOLE, UO_IMM) /* the runtime stores the instruction's words, the first imm bytes      \
                                                  before the end */                                                    \
    X(WATCH, "WATCH", 3, UE_WHOLE, 0) /* a debugger watches memory: the runtime looks whether this accesses it */      \
    X(ARRIVE, "ARRIVE", 3, UE_ENTRY | UE_CHECK, UO_IMM | UO_RUN) /* on only if ct_where is imm (count.h); kind is an   \
                                                                    enum run_kind */                                   \
    X(RUN, "RUN", 3, UE_ENTRY | UE_SCRATCH, UO_IMM | UO_SET)     /* a run counted in line (count.h): imm is its        \
                                                                    template, set its first word << 32 | offset of its \
                                                                    site word << 20 | of its active word << 8 |        \
                                                                    instructions; of a JCC: its word << 32 |           \
                                                                    RUN_LEAVES | those left out; of a JMP: RUN_LEAVES  \
                                                                    */                                                 \
    X(TURNS, "TURNS", 3, UE_WHOLE, 0)                            /* remember RCX before a repeated instruction */      \
    X(TURNED, "TURNED", 3, UE_WHOLE, UO_IMM)                     /* it has repeated; imm: template */                  \
    X(TMASK, "TMASK", 3, UE_CHECK | UE_TRACK, UO_SET)            /* any of set undefined: helper */                    \
    X(TMEM, "TMEM", 3, UE_CHECK | UE_TRACK, UO_MEM | UO_VIA | UO_SIZE) /* V(mem) != 0: helper */                       \
    X(TRACK, "TRACK", 3, UE_WHOLE, 0) /* the helper, always; in clean translations no register's V bits change */      \
    X(TJOIN, "TJOIN", 3, UE_TRACK, 0) /* the helper resumes here */                                                    \
    /* added by stage 4 */                                                                                             \
    X(EARLY, "EARLY", 4, UE_CHECK | UE_CLEAN, UO_MEM | UO_SIZE | UO_IMM) /* LDCHK ahead of time; else on at imm */     \
    /* added by stage 5 */                                                                                             \
    X(SPILL, "SPILL", 5, 0, UO_REG)     /* save host register in the state */                                          \
    X(UNSPILL, "UNSPILL", 5, 0, UO_REG) /* and get it back */

enum uop {
#define X(name, text, stage, effects, operands) U_##name,
    UCODE_OPS(X)
#undef X
        U_COUNT_OF
};

struct uop_info {
    const char *text;
    int stage;
    unsigned effects, operands; /* enum uop_effect, enum uop_operand */
};
extern const struct uop_info ip_uops[U_COUNT_OF];
static inline bool uop_does(int op, enum uop_effect effect) { return ip_uops[op].effects & effect; }

#define JMPI_UNBOUND (1ull << 63) /* in JMPI's imm: the block is good only as long as the jump leads there */
#define RUN_LEAVES   0x80000000u  /* goes into another function */
/* ARRIVE's kind: what else than the block before may lead here. */
enum run_kind { RUN_INSIDE, RUN_CALLED, RUN_BACK, RUN_LINK };

#define REG_BIT(r) (1u << (r))

struct uinstr {
    uint8_t op;         /* enum uop */
    uint8_t reg;        /* SPILL/UNSPILL/RDSEG/WRSEG: host register; RECADDR: a second one for itself */
    uint8_t seg;        /* enum ip_seg.  SEGEA, FPSAVE, RDSEG, WRSEG: whose base; INSN: runs with
                           the base of this segment in GS (see gs_operand) */
    uint8_t fl_live;    /* flags live across this uinstr */
    uint16_t size;      /* bytes of the access */
    int16_t insn;       /* index of the guest instruction */
    uint8_t t0;         /* register allocated to the temporary, IP_REG_NONE */
    uint8_t via_t;      /* INSN, LDCHK, ...: memory operand is [temporary] */
    uint8_t kind;       /* EXIT: enum ip_exit_kind */
    uint8_t after_insn; /* annotation that follows its guest instruction */
    uint8_t fl_lost;    /* JCC, where runs are counted in line: whom it leads to overwrites all flags */
    uint8_t late;       /* JCC: its stub gets the spilled registers back */
    uint16_t dead;      /* GPRs dead here (their next access is a kill) */
    uint16_t spilled;   /* stage 5: registers whose guest value is in its slot while this uinstr runs */
    struct uaddr m;
    uint64_t imm;
    uint64_t set; /* UMASK/TMASK: IP_U_* bits */
};

/* SPCHG's imm: the new red zone stays as it is; RSP's new value does not come from RSP or RBP. */
enum { SPCHG_RED_ZONE = 1, SPCHG_LOADED = 2 };

#define RED_ZONE    128 /* bytes below RSP that the ABI lets a leaf function use */
#define UB_MAX_INSN 64
#define UB_MAX_UOPS 1600

struct ublock {
    uint64_t key;    /* with mode bits */
    uint64_t pc;     /* where the bytes come from */
    uint64_t nraddr; /* wrap: original address, with has_nr */
    bool has_nr;
    bool track;
    bool checked;     /* its bytes are compared at entry, for nothing watches them */
    bool keeps_stack; /* what RSP gives back stays defined (ip_keeps_stack_add) */
    bool overflow;    /* some limit reached: caller retries shorter */
    uint32_t trace;   /* stage 3 of a tool that traces: client address of the template, or 0 */
    int n_insn, n_u;
    uint16_t dead_before[UB_MAX_INSN + 1]; /* stage 2 */
    uint8_t fl_live_before[UB_MAX_INSN + 1];
    uint64_t taken_back;  /* stage 2: a bit for each rise of RSP over what later code takes again, as it is */
    struct ip_insn *insn; /* UB_MAX_INSN of them; the blocks of one translation
                             share the decoded instructions */
    uint64_t pages[8];    /* guest pages the bytes come from */
    int n_pages;
    /* Large: never copied as a whole, a stage copies what lies before. */
    struct uinstr u[UB_MAX_UOPS];
};

/* All but the uinstrs, which the next stage writes. */
static inline void ub_copy_head(struct ublock *out, const struct ublock *in) {
    memcpy(out, in, offsetof(struct ublock, u));
    out->n_u = 0;
}

/* A tool's stage 3.  Registered by IP_TOOL_PASS in the tool's own folder. */
struct ip_tool_pass {
    const char *name;
    void (*instrument)(const struct ublock *in, struct ublock *out, uint64_t flags);
};
#define IP_TOOL_PASS(id, nm, fn)                                                                                       \
    static const struct ip_tool_pass ip_pass_##id = {nm, fn};                                                          \
    static const struct ip_tool_pass *const ip_pass_ptr_##id                                                           \
        __attribute__((used, section("ip_tool_passes"))) = &ip_pass_##id

struct ip_jit_opts;
/* The pass of the tool in o; NULL: it has none. */
const struct ip_tool_pass *ip_tool_pass(const struct ip_jit_opts *o);
void ip_ask_cpu(struct ip_jit_opts *o); /* show.c */

/* Reads guest code: fills up to n bytes, returns how many are readable. */
struct ip_code_reader {
    int (*read)(void *ctx, uint64_t pc, uint8_t *buf, int n);
    void *ctx;
    /* Does execution at pc go elsewhere (a binding)?  NULL: never. */
    bool (*is_bound)(void *ctx, uint64_t pc);
    /* Is code of this page compared at entry?  NULL: never. */
    bool (*is_checked)(void *ctx, uint64_t page);
    /* Can this page not change at all?  NULL: none can. */
    bool (*is_stable)(void *ctx, uint64_t page);
    /* n bytes of memory as they are now, for a guess: nothing may depend on them.  NULL: nobody may ask. */
    bool (*peek)(void *ctx, uint64_t at, void *out, int n);
    /* The block is to be one exit, for a debugger's breakpoint. */
    bool breaks;
};

/* Limits and switches of a translation. */
struct ip_jit_opts {
    uint64_t flags; /* IP_C_* */
    bool count_blocks;
    bool verify;               /* every stage's output (verify.c) */
    uint64_t random_registers; /* seed of stage 5's choices; 0: it takes the cheapest */
    char tool[16];             /* whose pass stage 3 is: a name, for two processes have it at two places */
    bool bmi2, avx512, amd;    /* the CPU has it; it is one of AMD's (ip_ask_cpu) */
    uint64_t sym[32];          /* runtime addresses, IP_SYM_* */
};

/* The six stages. */
/* max_insns: guest instructions at most, 0: as many as fit. */
void ip_stage1_disassemble(struct ublock *b, const struct ip_code_reader *rd, const struct ip_jit_opts *o,
                           int max_insns);
void ip_stage2_optimise(struct ublock *b, const struct ip_code_reader *rd, const struct ip_jit_opts *o);
void ip_stage3_instrument(const struct ublock *in, struct ublock *out, const struct ip_jit_opts *o);
void ip_stage4_cleanup(struct ublock *b, const struct ip_jit_opts *o);
void ip_stage5_allocate(struct ublock *b, struct ublock *out, const struct ip_jit_opts *o);

/* Stage 6 output: code at code[0..len) meant for address host. */
struct emit_exit {
    uint64_t key;
    uint32_t kind_aux;
    uint32_t patch_off; /* offset of the rel32 to patch, 0 none */
    uint32_t stub_off;  /* offset of the stub */
    uint32_t id_off;    /* offset of the imm32 that holds the exit id */
    uint8_t calls;      /* EXIT_SITED: it has left IP_CT_CALLED in ct_where */
};
enum { EXIT_JUMPS, EXIT_CALLS, EXIT_SITED };
#define EM_CHECK_JRCXZ 7 /* offset of the jrcxz in the check of an entry (em_check_entry) */
#define EM_MAX_CODE    60000
#define EM_MAX_EXITS   512
#define EM_MAX_POINTS  2500
#define EM_MAX_MOVED   1000
/* Where a block runs: its first bytes at host; the others, its stubs, at cold. */
struct code_place {
    uint32_t host, cold, hot; /* hot: how many bytes are the first */
};
static inline uint32_t place_at(const struct code_place *p, uint32_t offset) {
    return offset < p->hot ? p->host + offset : p->cold + (offset - p->hot);
}
struct em;
struct emitted {
    struct em *work; /* stage 6's, or NULL: it allocates it (ip_alloc) */
    uint8_t code[EM_MAX_CODE + 256];
    uint32_t len;
    struct code_place place;
    uint32_t entry;    /* offset of the block proper; before it, where indirect
                          jumps arrive */
    uint32_t compare;  /* offset of the low byte of the first compared value; 0: none */
    uint32_t inner;    /* offset of the place behind ARRIVE's comparison; 0: not to be entered there */
    uint32_t unmasked; /* offset of the place behind UMASK's test, if the block begins with it; 0: none */
    uint64_t mask;     /* the registers that the test covers */
    uint32_t called;   /* offset of the place that calls may come to in place of it; 0: none */
    uint32_t where;    /* that it compares with; 0: it does not */
    int n_exits, n_points;
    bool overflow;
    struct emit_exit exits[EM_MAX_EXITS];
    struct ip_point points[EM_MAX_POINTS];
    uint32_t moved[EM_MAX_MOVED]; /* enum writer_moved; not all if there are more */
    uint32_t n_moved;
};
/* cold: where the stubs go; 0: right behind the rest. */
void ip_stage6_emit(const struct ublock *b, struct emitted *e, uint32_t host, uint32_t cold,
                    const struct ip_jit_opts *o);

/* Is the block what the stage may leave behind (verify.c)?  If not, why says what is wrong where. */
bool ip_verify(const struct ublock *b, int stage, char *why, size_t cap);
/* Text of a block's uinstrs, as --trace-flags and the Python call print it. */
int ip_print_ublock(const struct ublock *b, char *buf, int cap);
/* Stage 4's check motion (hoist.c). */
void ip_hoist_checks(struct ublock *b);
/* What the instruction adds to RSP; false: not known. */
bool ip_rsp_step(const struct ip_insn *in, int64_t *step);
/* Registers that can stand for the instruction's memory operand (allocate.c). */
uint16_t ip_address_temps(const struct ip_insn *in);
/* New uinstr at the end; sets overflow when full. */
struct uinstr *ub_add(struct ublock *b, int op, int insn);
void uaddr_from_mem(struct uaddr *a, const struct ip_mem *m);
/* Must the address be computed, for it is neither known nor what a register holds? */
static inline bool uaddr_is_sum(const struct uaddr *m) {
    if (m->base >= 16) return m->index < 16;
    return m->index < 16 || m->disp || m->addr32;
}

#endif

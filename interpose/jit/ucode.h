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

#include "abi/abi.h"
#include "jit/address.h"
#include "jit/x86_decode.h"

/* Effects of a uop beyond its operands. */
#define UE_FLAGS                                                                                                       \
    1               /* clobbers the host's arithmetic flags when they are dead,                                        \
                       takes the flagless form when they live */
#define UE_END   2  /* leaves the block */
#define UE_GUEST 4  /* performs guest work (not merely annotation) */
#define UE_CHECK 8  /* may leave the block through a stub */
#define UE_WRSH  16 /* writes shadow memory */

/* The one table of uops: name, text, effects, temporaries it needs. */
#define UCODE_OPS(X)                                                                                                   \
    /* expressed by stages 1 and 2 */                                                                                  \
    X(INSN, "INSN", UE_GUEST, 0)            /* guest instruction, copied          */                                   \
    X(SEGEA, "SEGEA", 0, 0)                 /* t0 = client fs/gs base + address   */                                   \
    X(FAREA, "FAREA", 0, 0)                 /* t0 = rip-relative target, far      */                                   \
    X(RDSEG, "RDSEG", UE_GUEST, 0)          /* rdfsbase / rdgsbase                */                                   \
    X(WRSEG, "WRSEG", UE_GUEST, 0)          /* wrfsbase / wrgsbase                */                                   \
    X(COUNT, "COUNT", UE_CHECK, 1)          /* --stop-after countdown             */                                   \
    X(SETNR, "SETNR", 0, 0)                 /* nraddr = imm (wrap entry)          */                                   \
    X(FPSAVE, "FPSAVE", 0, 0)               /* x87 instruction pointer in what was stored */                           \
    X(GETNR, "GETNR", UE_GUEST, 0)          /* rax = nraddr                       */                                   \
    X(JMP, "JMP", UE_END | UE_GUEST, 0)     /* to imm                      */                                          \
    X(JCC, "JCC", UE_GUEST, 0)              /* side exit to imm on cc             */                                   \
    X(LOOPX, "LOOP", UE_GUEST, 0)           /* loop, loopcc, jrcxz to imm         */                                   \
    X(CALL, "CALL", UE_END | UE_GUEST, 0)   /* push return pc, to imm      */                                          \
    X(JMPI, "JMPI", UE_END | UE_GUEST, 0)   /* indirect jump               */                                          \
    X(CALLI, "CALLI", UE_END | UE_GUEST, 0) /* indirect call               */                                          \
    X(RET, "RET", UE_END | UE_GUEST, 0)     /* return, imm extra bytes     */                                          \
    X(EXIT, "EXIT", UE_END | UE_GUEST, 0)   /* to the runtime: syscall, ... */                                         \
    /* added by stage 3 */                                                                                             \
    X(UMASK, "UMASK", UE_FLAGS | UE_CHECK, 1) /* any of set undefined: track */                                        \
    X(LDCHK, "LDCHK", UE_FLAGS | UE_CHECK, 1) /* V(mem) == 0, clean load     */                                        \
    X(EARLY, "EARLY", UE_FLAGS | UE_CHECK, 1) /* V(mem) == 0 ahead of a load: else track */                            \
    X(STCHK, "STCHK", UE_FLAGS | UE_CHECK, 1) /* V(mem) == 0 or mark, clean  */                                        \
    X(STKDEF, "STKDEF", UE_WRSH, 0)           /* V(mem) = 0, no compare             */                                 \
    X(STKUND, "STKUND", UE_WRSH, 0)           /* V(mem) = all ones: given back      */                                 \
    X(SPSAVE, "SPSAVE", 0, 0)                 /* remember RSP before it changes     */                                 \
    X(SPCHG, "SPCHG", UE_WRSH, 0)             /* RSP changed by an unknown amount   */                                 \
    X(CSPUSH, "CSPUSH", 0, 1)                 /* call stack: push imm               */                                 \
    X(TMASK, "TMASK", UE_FLAGS | UE_CHECK, 1) /* any of set undefined: TRACK */                                        \
    X(TMEM, "TMEM", UE_FLAGS | UE_CHECK, 1)   /* V(mem) != 0: TRACK          */                                        \
    X(TRACK, "TRACK", 0, 0)                   /* unconditional tracking helper      */                                 \
    X(TJOIN, "TJOIN", 0, 0)                   /* the helper resumes here            */                                 \
    /* added by stage 5 */                                                                                             \
    X(SPILL, "SPILL", 0, 0)     /* save host register in the state    */                                               \
    X(UNSPILL, "UNSPILL", 0, 0) /* and get it back */

enum uop {
#define X(n, s, e, t) U_##n,
    UCODE_OPS(X)
#undef X
        U_COUNT_OF
};

#define REG_BIT(r) (1u << (r))

struct uinstr {
    uint8_t op;         /* enum uop */
    uint8_t reg;        /* SPILL/UNSPILL/RDSEG/WRSEG: host register */
    uint8_t seg;        /* enum ip_seg.  SEGEA, FPSAVE, RDSEG, WRSEG: whose base; INSN: runs with
                           the base of this segment in GS (see gs_operand) */
    uint8_t fl_live;    /* flags live across this uinstr */
    uint16_t size;      /* bytes of the access */
    int16_t insn;       /* index of the guest instruction */
    uint8_t t0;         /* register allocated to the temporary, IP_REG_NONE */
    uint8_t via_t;      /* INSN, LDCHK, ...: memory operand is [temporary] */
    uint8_t kind;       /* EXIT: enum ip_exit_kind */
    uint8_t after_insn; /* annotation that follows its guest instruction */
    uint16_t dead;      /* GPRs dead here (their next access is a kill) */
    uint16_t spilled;   /* stage 5: registers whose guest value is in its slot while this uinstr runs */
    struct uaddr m;
    uint64_t imm;
    uint64_t set; /* UMASK/TMASK: IP_U_* bits */
};

/* SPCHG's imm: the new red zone stays as it is; RSP's new value does not come from RSP or RBP. */
enum { SPCHG_RED_ZONE = 1, SPCHG_LOADED = 2 };

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
    int n_insn, n_u;
    uint16_t dead_before[UB_MAX_INSN + 1]; /* stage 2 */
    uint8_t fl_live_before[UB_MAX_INSN + 1];
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

const struct ip_tool_pass *ip_find_tool_pass(const char *name);

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
};

/* Limits and switches of a translation. */
struct ip_jit_opts {
    uint64_t flags; /* IP_C_* */
    int max_insns;
    bool count_blocks;
    const struct ip_tool_pass *pass;
    uint64_t sym[32]; /* runtime addresses, IP_SYM_* */
};

/* The six stages. */
void ip_stage1_disassemble(struct ublock *b, const struct ip_code_reader *rd, const struct ip_jit_opts *o);
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
};
#define EM_CHECK_JRCXZ 7 /* offset of the jrcxz in the check of an entry (em_check_entry) */
#define EM_MAX_CODE    60000
#define EM_MAX_EXITS   512
#define EM_MAX_POINTS  2500
struct emitted {
    uint8_t code[EM_MAX_CODE + 256];
    uint32_t len, host;
    uint32_t entry;   /* offset of the block proper; before it, where indirect
                         jumps arrive */
    uint32_t compare; /* offset of the low byte of the first compared value; 0: none */
    int n_exits, n_points;
    bool overflow;
    struct emit_exit exits[EM_MAX_EXITS];
    struct ip_point points[EM_MAX_POINTS];
};
void ip_stage6_emit(const struct ublock *b, struct emitted *e, uint32_t host, const struct ip_jit_opts *o);

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

#endif

/* Lockstep: one program in two processes, T runs translations, N is its fork on
 * the real CPU.  Both are stopped and stepped by ptrace (docs/lockstep.md).
 * Everything here must be called by the one thread that traces.  cffi parses
 * this file.
 */
#ifndef INTERPOSE_LOCKSTEP_H
#define INTERPOSE_LOCKSTEP_H

#include <stddef.h>
#include <stdint.h>

struct ip_ls_regs {
    uint64_t gpr[16]; /* in the order of enum ip_gpr */
    uint64_t rflags, pc;
};

#define IP_LS_RING   16
#define IP_LS_XSAVE  12288 /* more than any CPU's state */
#define IP_LS_BLOCK  64    /* instructions of a block, at most */
#define IP_LS_WRITES 128
#define IP_LS_FRAMES 4

struct ip_ls_step { /* an instruction that N executed */
    uint64_t pc;
    uint8_t bytes[16];
    uint32_t len, pad;
};

struct ip_ls_write {
    uint64_t addr, len;
};

enum ip_ls_event {
    IP_LS_ERROR,     /* errno in error, what in text */
    IP_LS_LIMIT,     /* stop_at steps are done */
    IP_LS_DIFFER,    /* see differ_* */
    IP_LS_SYSCALL,   /* N is before a system call, T behind it (after) */
    IP_LS_REQUEST,   /* the same for a client request */
    IP_LS_N_FAULT,   /* N got n_signal, T ran on */
    IP_LS_T_ENDED,   /* T is gone (t_status), N could go on */
    IP_LS_BOTH_DIED, /* T in a system call, or both of n_signal */
    IP_LS_T_EXEC     /* T runs another program now */
};

/* Bits of differ. */
#define IP_LS_D_PC     1
#define IP_LS_D_GPR    2
#define IP_LS_D_FLAGS  4
#define IP_LS_D_VECTOR 8
#define IP_LS_D_MEMORY 16

/* A pair.  Python fills the first part. */
struct ip_ls {
    uint64_t start_at, stop_at;     /* steps; compare from, go to */
    uint64_t vector_every;          /* steps between whole vector comparisons */
    uint64_t poke_step, poke_value; /* at this step T's register ... */
    int32_t poke_reg;               /* ... (-1: none) gets this value */
    int32_t keep_undefined;         /* compare undefined flags, too */
    int32_t forgive_dead, pad;      /* but not those that nobody will read: a tool's code may change them */

    int32_t t_pid, n_pid; /* n_pid 0: not forked yet */
    uint64_t ts;          /* T's struct tstate */
    uint64_t enter_jump, run_native, kernel_insn, watched;

    uint64_t steps; /* instructions that N has executed */
    uint64_t blocks, signals;
    struct ip_ls_regs t, n; /* where they stand */
    uint64_t n_fs, n_gs;
    uint64_t key, target; /* T's next block */

    /* the block that T was sent through */
    uint64_t block_key, block_host, pcs[64];
    uint32_t n_insns, index, in_block, left;
    uint32_t adopt;               /* N's state follows T's at its end */
    uint32_t vector;              /* it touched vector or x87 registers */
    uint32_t undefined, n_writes; /* arithmetic flags that nobody defines */
    struct ip_ls_write writes[128];

    /* T stands at the entry of a signal handler: what its frame says, and if that is such an entry, too, what the
     * frame there says */
    struct ip_ls_regs frames[4];
    uint32_t n_frames;
    uint32_t differ_frame;   /* not T's registers are compared, but those in ... */
    struct ip_ls_regs frame; /* ... this one */
    struct ip_ls_regs after; /* T right behind a system call */

    int32_t t_ended, t_status; /* waitpid's */
    int32_t n_signal, n_code;
    uint64_t n_addr;

    uint32_t differ, differ_gpr, differ_flags, xsave_size;
    uint64_t differ_addr; /* of memory */
    uint8_t differ_t[16], differ_n[16];
    int32_t differ_offset; /* of vector state, in its XSAVE image */
    int32_t error;
    char text[64];
    struct ip_ls_step ring[16];
    uint64_t ring_at; /* entries ever written */
    uint8_t x_t[12288], x_n[12288];
};

/* In the child that will execute the program: be traced, and stop. */
int ip_ls_traceme(void);
/* From that stop to the program's first instruction.  0, or -1: T ended or error. */
int ip_ls_start(struct ip_ls *l, int pid);
/* T alone to a guest pc.  0, or -1. */
int ip_ls_run_to(struct ip_ls *l, uint64_t pc);
/* Make N where T stands.  0, or -1. */
int ip_ls_fork(struct ip_ls *l);
/* On until something happens: enum ip_ls_event. */
int ip_ls_run(struct ip_ls *l);
/* N makes a system call; its registers stay. */
int64_t ip_ls_syscall(struct ip_ls *l, int64_t nr, const uint64_t args[6]);
/* Behind an IP_LS_SYSCALL or IP_LS_REQUEST: N's registers become what T's are
 * (whole), or what a system call leaves (not whole). */
int ip_ls_adopt(struct ip_ls *l, int whole);
int ip_ls_set_bases(struct ip_ls *l, uint64_t fs, uint64_t gs);
int64_t ip_ls_read(int pid, uint64_t addr, void *buf, uint64_t len);
/* Offset of an XSAVE component in the standard format, -1 if there is none. */
int ip_ls_component(int component);
/* Let T go, end N; T's wait status if it ended meanwhile, else -1. */
int ip_ls_finish(struct ip_ls *l);

/* What matters about one instruction (lockstep_insn.c). */
#define IP_LS_I_FREE   1 /* its result is nobody's to foresee: T's counts */
#define IP_LS_I_IMAGE  2 /* stores processor state with parts of no concern */
#define IP_LS_I_PUSHF  4
#define IP_LS_I_VECTOR 8
struct ip_insn;
int ip_ls_insn_kind(const struct ip_insn *in);
uint32_t ip_ls_undefined_flags(const struct ip_insn *in, uint64_t rcx);
/* Memory that it writes, from the registers before it; length 0: as much as the CPU's state takes (xsave). */
int ip_ls_insn_writes(const struct ip_insn *in, const struct ip_ls_regs *before, uint64_t fs, uint64_t gs,
                      struct ip_ls_write *out, int max);

#endif

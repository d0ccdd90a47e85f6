/* What translated code writes down for tools that follow a program's path and accesses (docs/tracing.md): templates of
 * blocks, in the meta memory, and records of their runs, in a buffer of each thread.  cffi parses this file. */
#ifndef INTERPOSE_ABI_TRACE_H
#define INTERPOSE_ABI_TRACE_H

#include <stdint.h>

/* ---- Records ------------------------------------------------------------------------------
 * A buffer is a sequence of records of 64-bit words.  The first word's low half is the client address of a struct
 * ip_tr_block, or, below IP_TR_EVENTS, an enum ip_tr_event.
 *
 * A run of a block: the high half has the number of guest instructions completed (0: none) in its low half, above it
 * a byte each for the words that these need, the first ones of the record, and for those that follow, the template's
 * n_words, whatever was completed: those of instructions that did not begin are garbage.
 * An event: the high half is the number of words that follow. */
#define IP_TR_EVENTS 4096
enum ip_tr_event {
    IP_TR_END,     /* nothing more; never written by translated code */
    IP_TR_SYSCALL, /* a system call begins: number, six arguments, time (us since 1970), CPU */
    IP_TR_SYSRET,  /* it has returned: number, result, time, CPU */
    IP_TR_SIGNAL, /* a handler is about to run: signal, pc and RSP that were interrupted, RSP of its frame, time, CPU */
    IP_TR_SIGRETURN, /* the handler has returned through its frame: pc it goes on at, RSP there */
    IP_TR_FSBASE,    /* base of FS from now on, base of GS */
    IP_TR_TIME,      /* the buffer begins or was full: time, CPU */
    IP_TR_GAP,       /* a run of a block that has no template, for there is no room: nothing */
    IP_TR_TOOL = 64  /* from here on the tool's own */
};

/* A buffer has 1 << IP_TR_FULL_BIT bytes and begins at a multiple of twice that, so one bit of the pointer says that it
 * is full.  The longest record fits in the bytes behind it. */
#define IP_TR_FULL_BIT   16
#define IP_TR_SLACK      16384
#define IP_TR_MAX_WORDS  192     /* of a run */
#define IP_TR_MAX_RANGES 2097152 /* of functions, and between them, that the program's process can see */

/* ---- Templates ---------------------------------------------------------------------------------- */

/* How a block is left at its end; one that is left at a JCC before has completed fewer instructions. */
enum ip_tr_end {
    IP_TR_NEXT,    /* goes on at next (also after a direct jump, whose target that is) */
    IP_TR_JCC,     /* the last instruction is a jcc or loop: to target or next */
    IP_TR_CALL,    /* to target; returns to next */
    IP_TR_CALLI,   /* indirect */
    IP_TR_JMPI,    /* indirect jump */
    IP_TR_RET,     /* */
    IP_TR_SYSTEM,  /* system call; goes on at next */
    IP_TR_REQUEST, /* client request; goes on at next */
    IP_TR_OTHER    /* trap, undecodable, far transfer */
};

enum ip_tr_kind { /* of an instruction */
                  IP_TR_PLAIN,
                  IP_TR_DIRECT_JUMP,
                  IP_TR_COND_JUMP,
                  IP_TR_DIRECT_CALL,
                  IP_TR_INDIRECT_CALL,
                  IP_TR_INDIRECT_JUMP,
                  IP_TR_RETURN,
                  IP_TR_SYSCALL_INSN
};

struct ip_tr_insn {
    uint64_t pc;
    uint64_t target; /* of a direct jump or call */
    uint8_t len;
    uint8_t kind;       /* enum ip_tr_kind */
    uint8_t n_accesses; /* they follow each other in accesses[] */
    uint8_t rep;        /* 0, 0xf3, 0xf2: repeated string instruction.  Its accesses are those of one iteration; the
                           words at rep_words are RCX before, RCX after, RDI or RSI after, and of cmps and scas ZF
                           after: iterations = RCX before - RCX after, direction = sign of (address register
                           after - before) */
    uint16_t first_access;
    uint16_t rep_words; /* index into the record's words (0 is the first after the head), 0xffff none */
    uint32_t function;  /* of its pc (ip_trace_functions), 0 none */
    uint32_t n_words;   /* of the record: those of the instructions up to this one, the first ones */
    uint8_t bytes[15];
    uint8_t known_times; /* repeated, and RCX is a constant of the block (jit/constants.c) */
};

/* address = word[base] + word[index] * scale + disp + base of seg.  0xffff: no word.  disp holds what the block has
 * added to a register since its word was written.  An instruction's reads come before its writes; what is read and
 * written is two accesses.  With IP_C_TRACE_ADDRESSES each access has a word of its own, which holds the sum, in the
 * order of the accesses; bit tests and xlat alone are formed of two. */
struct ip_tr_access {
    int64_t disp;
    uint16_t base, index;
    uint16_t size;
    uint8_t scale;
    uint8_t seg;   /* enum ip_seg */
    uint8_t kind;  /* IP_ACC_R or IP_ACC_W */
    uint8_t flags; /* IP_TRA_* */
    uint16_t insn;
    uint32_t pad;
};
#define IP_TR_NOWHERE   (~0ull) /* has not been accessed: no instruction completes that accesses the last byte */
#define IP_TRA_BIT      1       /* bit test of memory: the index word, a signed number of scale bytes, counts bits */
#define IP_TRA_STACK    2       /* push, pop, call, ret */
#define IP_TRA_PREFETCH 4       /* no access: a hint */
#define IP_TRA_MAYBE                                                                                                   \
    8 /* an element of a gather or scatter, a part of what XSAVE and its kin access: the address is the base word, or  \
         IP_TR_NOWHERE */
#define IP_TRA_ADDR32 16 /* the sum, before seg, is cut to 32 bits */
#define IP_TRA_BYTE   32 /* xlat: the index is the word's low byte */

struct ip_tr_block {
    uint64_t pc;           /* of the code */
    uint64_t key;          /* where it is reached: the redirected address, if it is a redirection's target */
    uint64_t next, target; /* see enum ip_tr_end */
    uint32_t number;       /* 0, 1, 2, ... in the order in which they were made */
    uint32_t bytes;        /* of the template, with what follows */
    uint16_t n_insns, n_accesses, n_words;
    uint8_t end;       /* enum ip_tr_end */
    uint8_t tracking;  /* reserved */
    uint32_t function; /* of pc */
    uint32_t sp_word;  /* index of a word: with sp_disp it is RSP before the last instruction, of calls, returns and
                          indirect jumps (not with IP_C_TRACE_NO_FRAMES); 0xffffffff: none */
    int32_t sp_disp;
    uint32_t first_word; /* number of words of all templates that were made before */
    /* With IP_C_TRACE_VALUES indices of words, else 0xffff: RDI, RSI, RDX, RCX, R8 and R9 where a function begins
     * (ip_trace_functions_add); RAX before a return. */
    uint16_t args_word, result_word;
    /* Runs counted in line (count.h): the value of ct_where that all blocks of this function or part have, 0 if each
     * has its own.  In code without a name, however it is counted: IP_CT_BLOCK with its part, and where that begins. */
    uint32_t where;
    uint64_t home;
    uint16_t active_word, site_word; /* words that it has beside its counters, from first_word on; 0: it has none */
    uint32_t reserved;
    /* struct ip_tr_insn[n_insns], then struct ip_tr_access[n_accesses] */
};

#endif

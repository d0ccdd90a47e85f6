/* Names of the CPU's own numbers: what instruction encodings, saved frames and the kernel's signal contexts
 * call by a number is called by these names everywhere.  cffi parses this file.
 */
#ifndef INTERPOSE_X86_CPU_H
#define INTERPOSE_X86_CPU_H

/* General registers, by their number in encodings. */
enum ip_gpr {
    IP_RAX,
    IP_RCX,
    IP_RDX,
    IP_RBX,
    IP_RSP,
    IP_RBP,
    IP_RSI,
    IP_RDI,
    IP_R8,
    IP_R9,
    IP_R10,
    IP_R11,
    IP_R12,
    IP_R13,
    IP_R14,
    IP_R15
};

/* Segment registers whose base counts in 64-bit mode, by their number in encodings; all others are "none". */
enum ip_seg { IP_SEG_NONE = 0, IP_SEG_SS = 2, IP_SEG_FS = 4, IP_SEG_GS = 5 };

/* Conditions of jcc, setcc and cmovcc, by their number in encodings; the lowest bit negates. */
enum ip_cc {
    IP_CC_O,
    IP_CC_NO,
    IP_CC_B,
    IP_CC_NB,
    IP_CC_Z,
    IP_CC_NZ,
    IP_CC_BE,
    IP_CC_NBE,
    IP_CC_S,
    IP_CC_NS,
    IP_CC_P,
    IP_CC_NP,
    IP_CC_L,
    IP_CC_NL,
    IP_CC_LE,
    IP_CC_NLE
};

/* Legacy prefix bytes. */
enum ip_prefix {
    IP_PREFIX_FS = 0x64,
    IP_PREFIX_GS = 0x65,
    IP_PREFIX_OPSIZE = 0x66,
    IP_PREFIX_ADDRSIZE = 0x67,
    IP_PREFIX_LOCK = 0xf0,
    IP_PREFIX_REPNE = 0xf2,
    IP_PREFIX_REP = 0xf3
};

/* Exception vectors. */
enum ip_vector {
    IP_VEC_DE = 0,  /* divide error */
    IP_VEC_DB = 1,  /* debug: single steps, int1 */
    IP_VEC_BP = 3,  /* int3 */
    IP_VEC_OF = 4,  /* into; user code reaches it by "int 4" */
    IP_VEC_UD = 6,  /* undefined instruction */
    IP_VEC_NP = 11, /* segment not present */
    IP_VEC_SS = 12, /* stack: an address that is not canonical by way of RSP or RBP */
    IP_VEC_GP = 13, /* general protection */
    IP_VEC_PF = 14, /* page fault */
    IP_VEC_MF = 16, /* x87 error */
    IP_VEC_AC = 17, /* alignment check */
    IP_VEC_XF = 19, /* SIMD error */
    IP_VEC_INT80 = 0x80
};

#endif

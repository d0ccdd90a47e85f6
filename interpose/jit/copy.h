/* Writes a guest instruction again, at another address: where that must show it is encoded anew, else its bytes
 * are copied.  Knows no engine, like the writer. */
#ifndef INTERPOSE_COPY_H
#define INTERPOSE_COPY_H

#include "abi/x86_insn.h"
#include "jit/writer.h"

/* temp: the memory operand becomes [temp] (IP_RAX, IP_RCX, IP_RDX, IP_RBX, IP_RSI or IP_RDI: no SIB, no REX.B);
 * IP_REG_NONE: it stays what it is. */
void copy_insn(struct writer *w, const struct ip_insn *in, int temp);
/* The same with a gs: prefix in place of its fs: or gs: one. */
void copy_insn_gs(struct writer *w, const struct ip_insn *in);
/* A loop, loopcc or jrcxz (rel8) whose target is so many bytes on. */
void copy_loop(struct writer *w, const struct ip_insn *in, int distance);

#endif

/* x86-64 instruction decoder over tables generated at build time. */
#ifndef INTERPOSE_X86_DECODE_H
#define INTERPOSE_X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/x86_insn.h"
#include "x86_mnem.h" /* generated: enum ip_mnem { IP_MN_INVALID, IP_MN_AAA, ... } */

/* Decode the instruction at code[0..avail) whose guest address is pc.
 * Returns its length and fills *out; returns 0 if the bytes are no valid
 * 64-bit instruction (out->len is then more than 15 if that is because it has
 * more than 15 bytes), and -1 if more bytes than avail are needed. */
int ip_decode(const uint8_t *code, size_t avail, uint64_t pc, struct ip_insn *out);

/* A whole vector register, from or to another one or memory, aligned or not. */
static inline bool ip_moves_vector(unsigned mnem) {
    switch (mnem) {
    case IP_MN_MOVUPS:
    case IP_MN_MOVUPD:
    case IP_MN_MOVAPS:
    case IP_MN_MOVAPD:
    case IP_MN_MOVDQU:
    case IP_MN_MOVDQA:
    case IP_MN_VMOVUPS:
    case IP_MN_VMOVUPD:
    case IP_MN_VMOVAPS:
    case IP_MN_VMOVAPD:
    case IP_MN_VMOVDQU:
    case IP_MN_VMOVDQA: return true;
    default: return false;
    }
}

/* "add", "vpaddb", ...; never NULL. */
const char *ip_mnem_name(unsigned mnem);

#endif

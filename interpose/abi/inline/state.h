/* What XSAVE and its kin access (SDM volume 1, 13.4 to 13.12), for the translator and the runtime: parts of the area,
 * in one order; which of them a run accesses, EDX:EAX and the area say. */
#ifndef INTERPOSE_STATE_H
#define INTERPOSE_STATE_H

#include <stdbool.h>

#include "abi/x86_insn.h"
#include "x86_mnem.h"

enum { IP_XS_HEADER = 512, IP_XS_EXTENDED = 576 };

/* Parts that lie where they do in all areas.  Behind them come the components from number 2 on that XCR0 has. */
enum ip_state_part {
    IP_XP_OLD_HEADER, /* read by what only replaces some of its bits */
    IP_XP_X87_CONTROL,
    IP_XP_MXCSR,
    IP_XP_X87_STACK,
    IP_XP_XMM,
    IP_XP_HEADER,
    IP_XP_COMPONENTS
};

static inline bool ip_compacts(const struct ip_insn *in) {
    return in->mnem == IP_MN_XSAVEC || in->mnem == IP_MN_XSAVEC64;
}
static inline bool ip_restores(const struct ip_insn *in) {
    return in->mnem == IP_MN_XRSTOR || in->mnem == IP_MN_XRSTOR64;
}
static inline bool ip_saves(const struct ip_insn *in) {
    return ip_compacts(in) || in->mnem == IP_MN_XSAVE || in->mnem == IP_MN_XSAVE64 || in->mnem == IP_MN_XSAVEOPT ||
           in->mnem == IP_MN_XSAVEOPT64;
}

static inline unsigned ip_state_part_at(enum ip_state_part part) {
    static const uint16_t at[] = {IP_XS_HEADER, 0, 24, 32, 160, IP_XS_HEADER};
    return at[part];
}
static inline unsigned ip_state_part_size(const struct ip_insn *in, enum ip_state_part part) {
    static const uint16_t size[] = {8, 24, 8, 128, 256, 8};
    return part != IP_XP_HEADER ? size[part] : ip_restores(in) ? 64 : ip_compacts(in) ? 16 : 8;
}

#endif

/* Memory operands, as the stages add them and the writer encodes them. */
#ifndef INTERPOSE_ADDRESS_H
#define INTERPOSE_ADDRESS_H

#include <stdint.h>

#include "abi/x86_cpu.h"
#include "abi/x86_insn.h"

/* [base + index * scale + disp], or [rip_target] if base is IP_REG_RIP. */
struct uaddr {
    uint8_t base, index; /* enum ip_gpr, IP_REG_NONE; base: or IP_REG_RIP */
    uint8_t scale;       /* 1, 2, 4, 8 */
    uint8_t addr32;      /* the sum counts modulo 2 to the 32 */
    uint8_t seg;         /* prefix that it is written with (enum ip_seg): which base the host's CPU adds */
    uint8_t wide;        /* the displacement takes four bytes, whatever its value: it may be patched */
    int64_t disp;
    uint64_t rip_target;
};

static inline struct uaddr addr_sum(int base, int index, int64_t disp) {
    struct uaddr m = {.base = (uint8_t)base, .index = (uint8_t)index, .scale = 1, .disp = disp};
    return m;
}
static inline struct uaddr addr_at(int base, int64_t disp) { return addr_sum(base, IP_REG_NONE, disp); }
static inline struct uaddr addr_wide(int base, int64_t disp) {
    struct uaddr m = addr_at(base, disp);
    m.wide = 1;
    return m;
}
static inline struct uaddr addr_absolute(int64_t disp) { return addr_sum(IP_REG_NONE, IP_REG_NONE, disp); }
/* The element of a table at a fixed address. */
static inline struct uaddr addr_element(int64_t table, int index, unsigned scale) {
    struct uaddr m = addr_sum(IP_REG_NONE, index, table);
    m.scale = (uint8_t)scale;
    return m;
}
/* So many bytes on. */
static inline struct uaddr addr_moved(struct uaddr m, int64_t by) {
    if (m.base == IP_REG_RIP)
        m.rip_target += (uint64_t)by;
    else
        m.disp += by;
    return m;
}
static inline struct uaddr addr_in_seg(struct uaddr m, enum ip_seg seg) {
    m.seg = (uint8_t)seg;
    return m;
}

#endif

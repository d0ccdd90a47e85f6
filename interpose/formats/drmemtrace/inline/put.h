/* One entry of a drmemtrace trace, laid out. */
#ifndef INTERPOSE_DRMEMTRACE_PUT_H
#define INTERPOSE_DRMEMTRACE_PUT_H

#include <stdint.h>

#include "formats/drmemtrace/entry.h"

/* Where the next one goes. */
static inline uint8_t *ip_mt_put(uint8_t *at, uint32_t type, uint32_t size, uint64_t addr) {
    uint32_t head = type | size << 16;
    __builtin_memcpy(at, &head, 4);
    __builtin_memcpy(at + 4, &addr, 8);
    return at + IP_MT_ENTRY;
}

#endif

/* The program's mappings, as the runtime keeps them and the supervisor reads them (IP_SYM_SEGMENTS). */
#ifndef INTERPOSE_SEGMENTS_H
#define INTERPOSE_SEGMENTS_H

#include <stdint.h>

enum rt_seg_kind { RT_SEG_ANON, RT_SEG_FILE, RT_SEG_STACK, RT_SEG_BRK, RT_SEG_SHM };
struct rt_seg {
    uint64_t lo, hi; /* page-aligned, half open */
    uint64_t off;    /* file offset of lo */
    uint64_t dev, ino;
    uint32_t prot;   /* what the guest asked for */
    uint16_t kind;   /* RT_SEG_* */
    uint16_t mflags; /* 1 MAP_SHARED, 2 image (low), 4 grows down, 8 announced to Python */
    uint32_t path;   /* offset into rt_paths, 0 none */
    uint32_t pad;
};

/* Where they are. */
struct rt_seg_table {
    uint64_t segments; /* address of an array of struct rt_seg, by address */
    uint64_t count_at; /* address of a uint32_t: how many */
    uint64_t paths;    /* address that rt_seg.path is an offset from */
    uint64_t brk_at;   /* address of the uint64_t where the program's break begins */
};

#endif

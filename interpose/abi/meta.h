/* The translator's tables, in the meta memory, which the client maps read-only.  cffi parses this file. */
#ifndef INTERPOSE_ABI_META_H
#define INTERPOSE_ABI_META_H

#include <stdint.h>

/* Precise state: sorted by host offset within a block, and packed (inline/points.h). */
#define IP_PF_BOUNDARY  1   /* host address begins a guest instruction */
#define IP_PF_GUEST     4   /* the host instruction here is the guest's own */
#define IP_PF_SHADOW    8   /* a shadow access for the guest's access */
#define IP_PF_COMMITTED 16  /* guest effects begun: only roll forward */
#define IP_PF_RECHECK   32  /* compares code bytes; a fault means: translate anew */
#define IP_PF_EARLY     64  /* for one that comes later: nothing to report */
#define IP_PF_RECORDED  128 /* from here on the block's run is in the thread's buffer (trace.h) */
struct ip_point {
    uint16_t host_off; /* from block start, stubs right behind the rest; state holds until next point */
    uint16_t spilled;  /* GPRs whose guest value is in tstate.gpr[] */
    uint8_t guest_off; /* number of the guest instruction: ip_block.pcs has its pc */
    uint8_t flags;     /* IP_PF_* */
};
/* Packed, in the first byte; in the second one; bytes at most. */
#define IP_POINT_FLAGS   7 /* mask; 7 itself: they follow */
#define IP_POINT_NEXT    8 /* the next guest instruction */
#define IP_POINT_INSN    16
#define IP_POINT_SPILLED 32
#define IP_POINT_FAR     255
#define IP_POINT_MOST    8
/* Of packed guest pcs: bytes of the first one; before a distance of more bytes; bytes of a distance at most. */
#define IP_PCS_HEAD 8
#define IP_PCS_FAR  255
#define IP_PCS_MOST 5
struct ip_block { /* ORDER: entry.S (abi_check.c), gdb/frames.py */
    uint64_t key;
    uint32_t host;      /* client address where it begins */
    uint32_t points;    /* where its first point is, in bytes */
    uint32_t pcs;       /* where the guest pcs of its n_insns instructions are, and of the one behind (inline/pcs.h), in
                           bytes; ip_point.guest_off is a number of one */
    union {             /* code that records runs has its stubs with it */
        uint32_t cold;  /* client address of its stubs, where they lie apart from it; ascends as host does */
        uint32_t trace; /* client address of its template (trace.h), or 0 */
    };
    uint16_t host_len, cold_len; /* bytes there */
    uint16_t n_points;
    uint8_t n_insns : 7;
    uint8_t live : 1; /* 0: dropped */
    uint8_t entry;    /* bytes behind host, where exits lead */
};
/* Layout of the meta memory: header, then arrays at these byte offsets. */
#define IP_META_TT      0x00001000 /* translation table: ip_ttent[1<<21] (inline/tt_hash.h) */
#define IP_META_TTBITS  21
#define IP_META_TTSMALL 13         /* behind it: ip_ttent[1<<13] */
#define IP_META_TTSIZE  0x202000   /* entries of both */
#define IP_META_EXITS   0x01011000 /* ip_exit[1<<21] */
#define IP_META_EXITMAX 0x00200000
#define IP_META_BLOCKS  0x03011000 /* ip_block[], sorted by host */
#define IP_META_BLKMAX  0x000c0000
#define IP_META_POINTS  0x05011000 /* bytes: packed points */
#define IP_META_PTMAX   0x04000000
#define IP_META_PCS     0x09011000 /* bytes: packed guest pcs */
#define IP_META_PCMAX   0x02000000
#define IP_META_DESC    0x0b011000 /* instruction descriptors (tracking) */
#define IP_META_DESCMAX 0x04000000
/* An entry of the translation table is 1 + the number of the block that has the key, with bits of a hash of the key, so
 * that hardly any other block is looked at; 0: empty.  ORDER: rt_find_stub. */
#define IP_TT_BLOCK     0xfffff
#define IP_TT_GONE      0xfffff   /* instead: a block was here, searches go on */
#define IP_TT_NOREDIR   0x100000u /* the key has IP_KEY_NOREDIR, which is no matter there: the block's has not */
#define IP_TT_TAG_SHIFT 21
struct ip_ttent {
    uint32_t entry;
    uint32_t host; /* where exits to the block lead */
};
struct ip_meta {
    uint32_t magic, version;
    uint32_t n_blocks, n_exits;
    uint32_t points_used, pcs_used, desc_used; /* bytes */
    uint32_t cache_used, cold_used;            /* bytes from IP_CACHE_BASE on, from IP_COLD_BASE on */
    uint32_t trace_used, trace_blocks;         /* bytes, number of templates */
    uint32_t trace_full;                       /* code is met that has none, for there is no room */
    uint32_t trace_words;                      /* sum of their n_words */
    uint64_t generation;                       /* bumped by each whole flush */
};

#endif

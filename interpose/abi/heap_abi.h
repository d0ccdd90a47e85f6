/* Tables of the replaced heap and of recorded stack traces, as Python reads
 * them from the client's memory; and the private requests with which the
 * stubs image reaches the heap.  cffi parses this file.
 */
#pragma once
#include <stdint.h>

/* ---- Private client requests of the stubs (docs/spec/client-requests.md section 2) - */
#define IP_HR_BASE       0x49500000 /* 'I','P' */
#define IP_HR_MALLOC     0x49500000 /* size, kind, symbol name of caller */
#define IP_HR_CALLOC     0x49500001 /* n, size */
#define IP_HR_REALLOC    0x49500002 /* ptr, size */
#define IP_HR_MEMALIGN   0x49500003 /* alignment, size, kind, how */
#define IP_HR_FREE       0x49500004 /* ptr, kind, size, alignment (IP_HR_UNSAID), operator delete's symbol or 0 */
#define IP_HR_USABLE     0x49500005 /* ptr */
#define IP_HR_NEW_FAILED 0x49500006 /* name: operator new cannot throw */
#define IP_HR_COPY                                                                                                     \
    0x49500007                        /* dst, src, n: bytes and V bits -> 1, or                                        \
                                         0: nothing done, go byte by byte */
#define IP_HR_FILL         0x49500008 /* dst, address of the byte, n: same */
#define IP_HR_STATS        0x49500009 /* ptr to 4 words: arena, in use, ...; symbol name of caller */
#define IP_HR_REALLOCARRAY 0x4950000a /* ptr, n, size */
#define IP_HR_FIND         0x4950000b /* name -> address of the program's function */
#define IP_HR_PLAIN                                                                                                    \
    0x4950000d /* at, n, byte -> how many of n bytes from at on are surely defined, and not this one; no more than     \
                  that is said of the next one */

/* The function has no such argument. */
#define IP_HR_UNSAID 0xffffffffffffffff
/* Of IP_HR_MEMALIGN: the alignment is none that the function may be given. */
#define IP_HR_REFUSED 1

/* Of the runtime, to Python alone: chunks of the memory pool with this number overlap. */
#define IP_HR_BAD_POOL 0x4950000c

/* Allocation kinds; free() fits MALLOC, delete NEW, delete[] NEW_ARRAY.  From CUSTOM on the program says where the
 * block is: MALLOCLIKE_BLOCK, and chunks of memory pools. */
enum ip_alloc_kind { IP_AK_MALLOC, IP_AK_NEW, IP_AK_NEW_ARRAY, IP_AK_CUSTOM, IP_AK_POOL, IP_AK_METAPOOL };
/* "how" of IP_HR_MEMALIGN: which of C's rules for the alignment apply. */
enum ip_align_how { IP_AH_MEMALIGN, IP_AH_POSIX, IP_AH_ALIGNED_ALLOC, IP_AH_NEW, IP_AH_PAGES };

/* ---- Heap blocks ----------------------------------------------------------- */
enum ip_block_state { IP_HB_UNUSED, IP_HB_LIVE, IP_HB_QUARANTINE, IP_HB_FREE };
#define IP_HB_MANY 255
struct ip_heap_block {
    uint64_t addr;      /* of the payload */
    uint64_t size;      /* as requested */
    uint32_t alloc_ctx; /* recorded stack, 0 = none; see ip_ctx_table */
    uint32_t free_ctx;
    uint32_t next;      /* heap's own links; of a live one that the heap gave: how many were before it */
    uint8_t state;      /* enum ip_block_state */
    uint8_t kind;       /* enum ip_alloc_kind */
    uint8_t align_log2; /* of an explicit alignment, else 0 */
    uint8_t holds;      /* client-defined blocks that begin where it lies or lay; IP_HB_MANY is that or more */
};
/* Behind the record of a memory pool's chunk; as a record it is IP_HB_UNUSED. */
struct ip_heap_pooled {
    uint32_t redzone;       /* bytes before and behind it that are nobody's */
    uint32_t pool;          /* the heap's number of the pool */
    uint32_t before, after; /* the heap's own links: chunks of the pool */
    uint64_t zero[2];
};
/* A run of units cut into equal cells, one block each; a big block has a span of its own (n == 1). */
#define IP_HEAP_UNIT      65536ull
#define IP_HEAP_LEAF_BITS 14
#define IP_HEAP_HUGE      1 /* it asks for huge pages */
#define IP_HEAP_MOVED     2 /* its pages came from another one */
struct ip_heap_span {
    uint64_t lo;
    struct ip_heap_block *records; /* of cell 0 on */
    uint32_t first;                /* index of the first of them */
    uint32_t stride;               /* 0: a span of one block */
    uint32_t inverse;              /* 2^HEAP_INVERSE / stride, rounded up: the cell of an address without a division */
    uint16_t n, used;              /* cells; those handed out so far */
    uint32_t free;                 /* cells that came back, linked through .next of their records */
    uint16_t n_free;               /* how many; of a span of one block: IP_HEAP_HUGE, IP_HEAP_MOVED */
    uint8_t size_class;            /* of cells of this size */
    uint8_t swept;                 /* heap_idle.c: since a block was given back last */
    uint32_t units;                /* its length */
    uint8_t alike;                 /* the answer of heap_hook_alike or heap_hook_zeros */
    struct ip_heap_span *next, *before; /* of the same class, with cells to give */
};
#define IP_HEAP_CHUNK  65536 /* blocks in one chunk: a huge page */
#define IP_HEAP_CHUNKS 2048
/* What one recorded stack allocated and freed, with IP_C_HEAP_COUNTS; a free place has no stack. */
struct ip_heap_count {
    uint64_t ctx;
    uint64_t bytes, blocks, freed_bytes, freed_blocks;
};
struct ip_heap_table { /* chan.rt_symbols[IP_SYM_HEAP_TABLE] */
    uint32_t version, block_bytes;
    uint64_t n_blocks; /* entries used, over all chunks; index 0 unused */
    uint64_t allocs, frees, bytes_allocated;
    uint64_t live_blocks, live_bytes, quarantine_bytes;
    uint64_t counts, counts_cap; /* address of the first struct ip_heap_count, and how many places there are */
    uint64_t unit_map;           /* address of the spans by unit, in two levels: of leaves of 2^IP_HEAP_LEAF_BITS */
    uint64_t has_others;         /* there were records without a cell, or blocks that are longer than theirs */
    uint64_t n_arenas;
    uint64_t arena_lo[1024], arena_hi[1024];
    uint64_t chunks[2048]; /* addresses of struct ip_heap_block[65536] */
};

/* ---- Recorded stack traces -------------------------------------------------- */
/* A trace's number n is its place in 8-byte words over chunks of 1 MiB:
 * chunk n >> 17, word n & 0x1ffff.  There: u32 count, u32 hash, u64 frames[]. */
#define IP_CTX_CHUNK_WORDS 131072
struct ip_ctx_table { /* chan.rt_symbols[IP_SYM_CTX_TABLE] */
    uint32_t version, n_chunks;
    uint64_t n_traces, used_words;
    uint64_t outdated; /* the supervisor sets it: addresses mean something else in the traces from here on */
    uint64_t chunks[4096];
};

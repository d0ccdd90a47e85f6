/* Translation table, code cache, chaining: the translator's state for one client. */
#ifndef INTERPOSE_TRANSTAB_H
#define INTERPOSE_TRANSTAB_H

#include "abi/channel.h"
#include "abi/exits.h"
#include "abi/inline/described.h"
#include "abi/inline/shared_lock.h"
#include "abi/meta.h"
#include "abi/space.h"
#include "jit/native_api.h"
#include "jit/ucode.h"
#include "jit/ways.h"

/* Guest instructions of a block at most, when no option asks for fewer.  Where runs are counted in line, straight code
 * (hashes, ciphers) gains by longer blocks; checks of accesses do not get cheaper by them. */
static inline int block_insns(uint64_t flags) { return flags & IP_C_COUNT ? 60 : 40; }

struct xrec {              /* private part of a direct exit; of all others, and of one that nothing leads on from or
                            * waits for yet, it is the first one, all zero */
    uint32_t next_in;      /* next exit linked to the same block, 0 end */
    uint32_t next_waiting; /* next exit that waits, of those whose keys have one hash, 0 end; next check's exit */
    uint64_t stub : 16;    /* where its stub is in the block; of a check's, the rel32 to patch (IP_CHECK_WHERE) */
    uint64_t waits : 1;
    uint64_t block : 23;  /* that it belongs to */
    uint64_t linked : 24; /* block + 1, 0 none */
};
_Static_assert(IP_META_BLKMAX < 1u << 23 && EM_MAX_CODE <= UINT16_MAX, "xrec");
/* Exits of checks have no number in the table.  They have records while they are linked, and are known by those. */
#define IS_CHECK(x) ((x) >= IP_META_EXITMAX)
/* Private part of a block.  Places are offsets from its begin. */
struct __attribute__((packed, aligned(4))) brec {
    union {             /* with checks, or of blocks that are counted */
        uint64_t mask;  /* registers that are defined when the block is inside; the same at all its exits */
        uint32_t where; /* ct_where that the block wants (abi/count.h); 0: any */
    };
    uint32_t first_exit; /* they end where the next block's begin */
    uint32_t incoming;   /* first exit linked to it, 0 none */
    uint16_t compare;    /* the first compared value, 0 if none is */
    uint16_t inner;      /* behind the comparison with where; 0: exits never lead there */
    uint16_t unmasked;   /* behind the test of the registers in mask; 0: there is no such place */
    uint16_t called;     /* where calls from a site may go in place of it, 0: nowhere */
    /* Guest pages that it was made from: most often its pc's own, then others, from this index in block_pages on. */
    uint32_t pages : 27;
    uint32_t own_page : 1;
    uint32_t n_others : 4;
};
_Static_assert(sizeof(struct brec) == 28, "a program may have 800,000");
#define BLOCK_PAGES 8u /* at most */
/* Of all blocks, where most have none but their own. */
#define BLOCK_PAGES_MOST (IP_META_BLKMAX * 2u)
#define CHECK_CHAINS     4096u
struct page_ent {  /* blocks made from a guest page */
    uint64_t page; /* 0 unused */
    uint32_t *blocks;
    uint32_t n, cap;
    uint32_t watched;  /* the client says that it would notice a write */
    uint32_t written;  /* how often they were dropped because of a write */
    uint8_t unnoticed; /* the client cannot notice writes */
    uint8_t relapses;  /* how often it was written often */
    uint64_t changed;  /* ms when it became so, or a block was stale */
};
struct binding {
    uint64_t addr, target;
    uint64_t inner; /* a replacement that target wraps: runs in place of addr without redirection; 0: none */
    uint16_t wrap, used;
    uint16_t ran;  /* bit 0: target, bit 1: inner */
    uint16_t user; /* a wrapper or replacement that is none of ours */
};
/* Where the search for an address begins in a table of mask + 1 bindings. */
static inline uint32_t bind_home(uint64_t addr, uint32_t mask) {
    return (uint32_t)(addr * 0x9e3779b97f4a7c15ull >> 32) & mask;
}
#define BOUND_PAGES 4096u /* bits: most pages have no binding, and each instruction is asked for one */
static inline uint32_t bound_page(uint64_t addr) { return (uint32_t)(addr >> 12 ^ addr >> 24) & (BOUND_PAGES - 1); }
struct code_copy {
    uint64_t at, gen;
    int valid;
};
struct code_copies { /* one process's */
    struct code_copy *of;
    uint8_t *bytes; /* that process has */
    uint32_t n;     /* how many there may be */
    uint32_t unit;  /* bytes of each, a page at most */
};

/* Writes to a page with translations after which they look at its bytes
 * instead: a write that is caught costs as much as thousands of comparisons. */
#define WRITTEN_OFTEN 32u
/* Watched again after so many ms without a change; twice as long each time. */
#define CALM_MS        1000u
#define CALM_DOUBLINGS 8u

/* From so many blocks on, the tables are flushed when three of four are gone. */
#define MANY_BLOCKS 16384u

#define AHEAD_QUEUE  64
#define AHEAD_BLOCKS 12   /* made for each request, once it is answered */
#define LOOK_BESIDE  2048 /* bindings that are looked at for each request that is bound to a wrapper of ours */

/* The supervisor's are pages, 4 MB; those of larger programs are read again now and then (cc1: each of 2,500 three
 * times).  The program's process has all at hand: a copy there only is what does not change amid a request. */
#define CODE_COPIES      1024u
#define CODE_COPIES_HERE 64u
#define CODE_UNIT_HERE   512u

/* Small tables that grow (tt_alloc): a program's pages with their blocks, exits that wait, bindings.  Places by powers
 * of two; what is given back is the next one's of its size. */
#define TT_HEAP    (64u << 20)
#define TT_CLASSES 27u
#define PAGES_MOST (1u << 18) /* places for pages; a flush comes when three of four are taken */

#define TT_RANGES 1024
struct tt_ranges {
    struct {
        uint64_t lo, hi;
    } r[TT_RANGES];
    int n;
};

struct transtab {
    struct ip_shared_lock lock;
    bool in_place;     /* the supervisor has its views where the program's process has them */
    bool here;         /* the program's threads may translate (tt_serve) */
    bool broken;       /* somebody died amid a change: all has to be forgotten */
    uint32_t large_to; /* bytes of the code that lie in large pages, if they can */
    uint32_t heap_used;
    void *heap_free[TT_CLASSES];
    uint8_t *cache; /* our writable view of the code cache */
    uint8_t *meta_base;
    struct ip_meta *meta;
    struct ip_ttent *tt;
    struct ip_exit *exits;
    struct ip_block *blocks;
    uint8_t *points, *pcs, *desc;
    uint32_t *shapes; /* a hash table of what tt_shape has returned, plus 1 */
    uint32_t shapes_size, n_shapes;
    uint32_t *xrec_of; /* exit: index in xrec */
    struct xrec *xrec;
    struct brec *brec;
    uint64_t *block_pages;
    uint32_t n_xrec, n_block_pages;
    uint32_t checks[CHECK_CHAINS]; /* exits of checks, by block; 0 end */
    uint32_t free_checks;          /* records that are none's, 0 end */
    uint64_t cache_bytes;
    uint32_t n_live; /* blocks that can be found */
    struct ip_jit_opts opts;
    struct page_ent *pages;
    uint32_t pages_cap, pages_n;
    uint32_t n_often; /* pages that were written often */
    uint64_t calm_at; /* ms when they are looked at again */
    struct binding *bind;
    uint32_t bind_cap, bind_n;
    uint64_t bound_pages[BOUND_PAGES / 64]; /* where a binding is, or was */
    uint64_t *breaks;                       /* a debugger's breakpoints, ascending */
    uint32_t n_breaks, breaks_cap;
    bool past_break;                        /* neither the one at the pc asked for nor watchpoints count */
    bool watching;                          /* a debugger watches memory */
    struct tt_ranges stable;                /* code that cannot change without an unmap */
    struct tt_ranges keeps_stack;           /* see ip_keeps_stack_add */
    struct code_copies copies, copies_here; /* the supervisor's, the program's */
    uint64_t code_at, code_gen;             /* the copy used last, good for one request */
    const uint8_t *code_bytes;
    uint32_t code_bytes_n; /* its size; 0: there is none */
    uint64_t req_gen;
    uint32_t *wait;              /* exits to keys without translation: the first one with a hash, 0 none */
    uint32_t wait_size, n_wait;  /* hashes, and exits that wait */
    uint64_t exec_lo, exec_hi;   /* what may be executed around the pc asked for */
    uint64_t ahead[AHEAD_QUEUE]; /* keys that may be asked for next */
    int ahead_at, ahead_n, ahead_left;
    uint32_t beside_at;         /* the binding that is looked at next */
    uint64_t cycles;            /* spent in translation */
    uint64_t tsc0, clock0;      /* both clocks at the start, to compare them */
    uint64_t new_pages[64];     /* pages to tell the runtime about */
    uint16_t gone[IP_MAX_GONE]; /* IP_R_INVALIDATE: entries of the fast table to clear */
    uint32_t n_gone;            /* more than there is room for: all */
    int n_new_pages;
    struct ublock *ub[3];
    struct emitted *em;
    bool unwrapped;     /* the request is for a thread that users' bindings do not apply to */
    uint64_t used[256]; /* bindings used for the first time, a ring */
    bool tells_uses;    /* somebody wants to hear when a binding runs for the first time */
    uint32_t used_head, used_tail;
    struct ip_service_stats stats;
    int trace_fd;
    uint8_t trace[8];
    uint64_t trace_from, trace_to; /* blocks that are traced, numbered from 0 as they are translated */
    struct keeping *keep;          /* keep.h: translations that outlast the run; NULL: none do */
};

/* tables.c: zeroed memory in the translator's own, for a table of n; it is given back with as many bytes.  Where there
 * is none left the run ends. */
void *tt_alloc(struct transtab *t, size_t n, size_t size);
void tt_free(struct transtab *t, void *table, size_t bytes);
/* Is there room for what one more block may make grow?  A whole flush makes it, and moves what outlasts one. */
bool tt_heap_has_room(const struct transtab *t);
void tt_renew_heap(struct transtab *t);
/* Where its tables are; all that there is of them before the first block. */
void tt_find_tables(struct transtab *t);
void tt_begin_tables(struct transtab *t);
/* All translations are forgotten. */
void keep_flushed(struct transtab *t);

/* A request of a thread of the program, under the lock.  False: the other process has to answer it. */
struct ip_slot;
bool tt_may_serve(const struct transtab *t, const struct ip_slot *s, uint32_t kind);
void tt_serve(struct transtab *t, struct ip_slot *s, uint32_t kind);
/* Somebody wants to hear that a binding has run for the first time. */
bool tt_has_used(const struct transtab *t);

/* The translator's view of code at a client address. */
static inline uint8_t *tt_code(const struct transtab *t, uint32_t host) { return t->cache + (host - IP_CACHE_BASE); }
/* Where the next block goes (how much of it is hot, its maker knows); its code goes there. */
struct code_place tt_next_place(const struct transtab *t);
/* Where exits to a block lead. */
static inline uint32_t tt_entry(const struct transtab *t, uint32_t block) {
    return t->blocks[block].host + t->blocks[block].entry;
}
/* Behind the last of its exits. */
static inline uint32_t tt_end_exits(const struct transtab *t, uint32_t block) {
    return block + 1 < t->meta->n_blocks ? t->brec[block + 1].first_exit : t->meta->n_exits;
}
/* The client's address of a place in a block. */
static inline uint32_t tt_place(const struct transtab *t, uint32_t block, uint32_t offset) {
    const struct ip_block *b = &t->blocks[block];
    return offset < b->host_len ? b->host + offset : b->cold + (offset - b->host_len);
}
static inline uint32_t tt_offset(const struct transtab *t, uint32_t block, uint32_t address) {
    const struct ip_block *b = &t->blocks[block];
    return address - b->cold < b->cold_len ? address - b->cold + b->host_len : address - b->host;
}
/* Guest pages that a block was made from: how many, and which. */
static inline uint32_t tt_n_pages(const struct transtab *t, uint32_t block) {
    return t->brec[block].own_page + t->brec[block].n_others;
}
static inline uint64_t tt_block_page(const struct transtab *t, uint32_t block, uint32_t i) {
    const struct brec *r = &t->brec[block];
    if (i < r->own_page) return t->blocks[block].key & IP_KEY_PC & ~4095ull;
    return t->block_pages[r->pages + i - r->own_page];
}
/* Notes the points of a new block, and the guest pcs of its instructions and of the one behind. */
void tt_put_points(struct transtab *t, struct ip_block *b, const struct ip_point *points, uint32_t n);
void tt_put_pcs(struct transtab *t, struct ip_block *b, const uint64_t *pcs, uint32_t n_insns);
/* Notes both, packed as they are in the tables. */
void tt_take_tables(struct transtab *t, struct ip_block *b, const uint8_t *points, uint32_t n_points,
                    const uint8_t *pcs, uint32_t n_pcs);
/* describe.c: the index of a description in the tables; of one that tells nothing of where the instruction is (its pc
 * is 0, the target of a conditional jump the distance to it), which all that are the same share. */
uint32_t tt_describe(struct transtab *t, const struct ip_insn *in);
uint32_t tt_shape(struct transtab *t, const struct ip_insn *in);
void tt_forget_shapes(struct transtab *t);
void tt_put_code(struct transtab *t, const struct code_place *p, const uint8_t *code, uint32_t len);

/* Finds or makes the translation of key; 0 when the cache is full (flush) with
 * *full set.  Patches exit_id (from 1) to it when chaining is on. */
uint32_t tt_request(struct transtab *t, uint64_t key, uint32_t exit_id, bool *full);
/* While nobody asks: makes one more block that control may come to; false when
 * there is none. */
bool tt_ahead(struct transtab *t);
void tt_forget_ahead(struct transtab *t);
/* The number of the key's block + 1; 0: it has no translation. */
uint32_t tt_find(const struct transtab *t, uint64_t key);
/* The key that a key's translation is found under. */
uint64_t tt_canonical(const struct transtab *t, uint64_t key);
/* How many translations there were; why: enum ip_invalid. */
uint64_t tt_invalidate(struct transtab *t, uint64_t lo, uint64_t len, int why);
/* Writes to the page will be noticed; or they may not be. */
void tt_watched(struct transtab *t, uint64_t page, bool unnoticed);
/* The block of key has found other bytes than its own. */
void tt_stale(struct transtab *t, uint64_t key);
/* Pages that were written often, and not lately: their blocks are found stale. */
void tt_calm(struct transtab *t, uint64_t now_ms);
void tt_drop_block(struct transtab *t, uint32_t block);
void tt_drop_containing(struct transtab *t, uint64_t pc);
void tt_flush(struct transtab *t);
/* Is there room for one more block, whatever its size? */
bool tt_room(const struct transtab *t);
/* From now on the block is found by its key. */
void tt_publish(struct transtab *t, uint64_t key, uint32_t block);
const struct binding *tt_binding(const struct transtab *t, uint64_t addr);
/* breaks.c: has a debugger a breakpoint there? */
bool tt_is_break(const struct transtab *t, uint64_t pc);
/* watchpoints.c: have the runtime look at each access of a block, behind stage 3. */
void tt_watch_accesses(struct ublock *b);
void tt_set_break(struct transtab *t, uint64_t pc, bool set);
/* The client watches the page: what was read from it holds until it says otherwise. */
bool tt_is_watched(const struct transtab *t, uint64_t page);
/* Blocks made from the page compare its bytes when they are entered. */
bool tt_is_checked(const struct transtab *t, uint64_t page);

/* chain.c */
static inline struct xrec *tt_xrec(const struct transtab *t, uint32_t x) {
    return &t->xrec[IS_CHECK(x) ? x - IP_META_EXITMAX : t->xrec_of[x]];
}
/* The first exit of a block's checks that leads on; the one after it.  0: none. */
uint32_t tt_first_check(const struct transtab *t, uint32_t block);
uint32_t tt_next_check(const struct transtab *t, uint32_t x);
void tt_forget_checks(struct transtab *t);
/* All that the translator alone knows of blocks, exits and the code that they are made of: there are none any more. */
void tt_forget_blocks(struct transtab *t);
/* An exit is new; a direct one leads to its stub. */
static inline void tt_new_exit(const struct transtab *t, uint32_t x) { t->xrec_of[x] = 0; }
void tt_init_waiting(struct transtab *t);
void tt_forget_waiting(struct transtab *t);
void tt_patch_rel32(struct transtab *t, uint32_t at, uint32_t to);
void tt_link_exit(struct transtab *t, uint32_t x, uint32_t block);
/* The same of a check's, by its place. */
void tt_link_check(struct transtab *t, uint32_t place, uint32_t block);
/* A new block has an exit to key: what tt_link_block will look up, most often in no cache of the CPU, may come
 * meanwhile. */
void tt_expect(const struct transtab *t, uint64_t key);
/* Exits of a new block, and exits to it. */
void tt_link_block(struct transtab *t, uint64_t key, uint32_t block);
void tt_unlink_block(struct transtab *t, uint32_t block);

/* pages.c */
struct page_ent *tt_page(const struct transtab *t, uint64_t page);
/* A block was made from the page, too. */
void tt_page_add_block(struct transtab *t, uint64_t page, uint32_t block);
void tt_init_pages(struct transtab *t);
void tt_flush_pages(struct transtab *t);

/* guestcode.c */
void tt_forget_code(struct transtab *t, uint64_t lo, uint64_t hi);
bool tt_is_stable(const struct transtab *t, uint64_t page);
bool tt_in_ranges(const struct tt_ranges *r, uint64_t at);
void tt_ranges_add(struct tt_ranges *r, uint64_t lo, uint64_t hi);
void tt_ranges_del(struct tt_ranges *r, uint64_t lo, uint64_t hi);
/* The client's bytes, wherever they are: n of them at pc; are they these?  False: not readable, too. */
bool tt_code_bytes(struct transtab *t, uint64_t pc, uint32_t n, uint8_t *out);
bool tt_same_bytes(struct transtab *t, uint64_t pc, uint32_t n, const uint8_t *bytes);
int tt_read(void *ctx, uint64_t pc, uint8_t *buf, int n);

#endif

/* Translations of mapped files that outlast the run (docs/cache.md). */
#ifndef INTERPOSE_KEEP_H
#define INTERPOSE_KEEP_H

#include "jit/transtab.h"

#define KEEP_MAGIC    0x54504549504b5431ull
#define KEEP_FORMAT   5u
#define KEEP_SEGMENTS 256
#define KEEP_READS    96
#define KEEP_UNBOUND  512
#define KEEP_NOTE     (96u << 10)  /* at most of a block */
#define KEEP_PIECE    (256u << 10) /* of notes, that wait in memory */
#define KEEP_UNIT     8u           /* a note's number is 1 + its offset in such units */
#define KEEP_SPILLED  (512u << 20) /* that wait in the file, at most */
#define KEEP_CHUNK    (48u << 10)  /* bytes of blocks that are read and verified together */
#define KEEP_MOVED    3            /* ways of moving (enum writer_moved) */
#define KEEP_AHEAD    3  /* chunks behind the one that was wanted, while nobody asks; each time that this was */
#define KEEP_AHEAD_TO 24 /* the right guess twice as many, up to so many */

/* The file: header, chunks of blocks, then a table of the chunks and one of the blocks by pc. */
struct kept_head {
    uint64_t magic;
    uint32_t format, build;
    uint64_t made_for[2]; /* digest of all that decides what code is made of an instruction */
    uint64_t lo, hi;
    uint64_t index; /* where the tables begin */
    uint32_t n_chunks, n_blocks;
    uint64_t digest[2]; /* of the header before, and of the tables */
};
struct kept_chunk {
    uint64_t at;
    uint32_t bytes, n_blocks;
    uint64_t digest[2];
};
struct kept_name { /* ascending */
    uint32_t pc, track;
    uint32_t chunk, unused;
};
/* A block of a chunk: this, then its arrays in the order of struct parts (keep_take.c). */
struct kept_block {
    uint32_t bytes; /* in all, a multiple of 8 */
    uint32_t pc;
    uint32_t host_len; /* with its stubs */
    struct code_place made_for;
    uint32_t entry, unmasked; /* struct emitted's */
    uint64_t mask;
    uint32_t n_guest;     /* bytes of code that it was made from */
    uint32_t slot, guess; /* of an entry of a linkage table: what it was taken to hold; 0: nothing was guessed */
    uint16_t n_exits, n_descs, n_reads, n_pages, n_insns, n_unbound, n_points;
    uint16_t n_moved[KEEP_MOVED];     /* offsets of each way of moving */
    uint16_t points_bytes, pcs_bytes; /* packed as in the run's tables (abi/inline) */
    uint8_t track, keeps_stack, unused[2];
};
struct kept_exit {
    uint32_t pc; /* of the key */
    uint32_t kind_aux;
    uint16_t upper;     /* the key's uppermost bits; those between are zero */
    uint16_t patch, id; /* offsets */
    uint16_t desc;      /* from 1 */
};
struct kept_read { /* code that was looked at: its bytes decide what was made */
    uint32_t pc, n;
};

struct segment {
    uint64_t lo, hi;
    int fd;     /* -1: nothing is kept of it */
    bool stale; /* its blocks are of other bytes than are mapped */
    bool damaged;
    uint32_t n_chunks, n_names;
    uint32_t next_chunk;       /* behind what was taken last */
    int ahead;                 /* how many will be taken from there */
    struct kept_chunk *chunks; /* bytes 0: done with */
    uint32_t *bytes;           /* of each chunk */
    struct kept_name *names;
};

/* keep_notes.c */
struct note_store {
    int folder; /* where its file may be; -1: nowhere */
    int fd;     /* -1: not needed yet */
    bool full;
    uint8_t *piece; /* what follows the file (jit/memory.h) */
    uint32_t used;
    uint64_t spilled; /* bytes of the file */
    uint8_t *window;  /* of the file, when notes are read */
    uint64_t window_at;
    uint32_t window_n;
};

struct keeping {
    bool writes;
    uint64_t flags; /* of the options, when it was switched on */
    uint64_t max_bytes;
    /* Of the block under way. */
    bool lost; /* there was no room for all of the following */
    int n_reads, n_unbound;
    struct kept_read reads[KEEP_READS];
    uint32_t unbound[KEEP_UNBOUND];
    uint32_t *note; /* numbers of those of blocks that were made in this run; 0: not to be kept */
    struct note_store notes;
    struct segment seg[KEEP_SEGMENTS];
    int n_seg;
    uint64_t *waits;  /* bits of pcs (keep_bit): something may be kept, and was not looked at in this run */
    uint64_t next_lo; /* the segment that was wanted last */
    uint32_t damaged; /* files and chunks that are not what was written */
};

#define KEEP_BITS (1u << 20) /* a lost bit costs a translation, one too many a request to the supervisor */
static inline uint32_t keep_bit(uint64_t pc) { return (uint32_t)(pc ^ pc >> 20) & (KEEP_BITS - 1); }
static inline bool keep_waits(const struct keeping *k, uint64_t pc) {
    uint32_t bit = keep_bit(pc);
    return k->waits[bit / 64] >> bit % 64 & 1;
}

/* A block is about to be made; what it depends on; it has been made. */
void keep_begin(struct transtab *t);
void keep_read(struct transtab *t, uint64_t pc, int n);
void keep_unbound(struct transtab *t, uint64_t pc);
void keep_made(struct transtab *t, uint32_t block, bool wanted);
/* Another image is mapped: those in its place are gone. */
void keep_add(struct transtab *t, const struct segment *s);
/* The program is forgotten. */
void keep_forget(struct keeping *k);

/* Code that was made for one place goes to another (moved: struct emitted's). */
void keep_move(uint8_t *code, const uint32_t *moved, uint32_t n, const struct code_place *from,
               const struct code_place *to);
/* The same for offsets that all move in one way, and the ways. */
extern const uint32_t keep_ways[KEEP_MOVED];
void keep_move_all(uint8_t *code, const uint16_t *offsets, uint32_t n, uint32_t how, const struct code_place *from,
                   const struct code_place *to);
/* A digest of all that decides, beside the guest's bytes, what code is made. */
void keep_made_for(const struct transtab *t, uint64_t out[2]);
/* keep_take.c: one block that was kept, at [at, at + left); how many bytes it has, 0 if it is damaged. */
uint32_t keep_install(struct transtab *t, struct segment *s, const uint8_t *at, size_t left);
/* keep_save.c: how many blocks are new, or -errno. */
int64_t keep_save(struct transtab *t, uint64_t lo, uint64_t hi, int old_fd, int new_fd);

/* Reads and verifies header and tables; false: not one of ours, of another build, or damaged. */
bool keep_open(struct transtab *t, struct segment *s);
void keep_close(struct segment *s);
/* The block of a key, or NULL. */
const struct kept_name *keep_name(const struct segment *s, uint64_t key);
/* The image that is mapped from there on, or NULL. */
struct segment *keep_segment(struct keeping *k, uint64_t lo);
/* A chunk's bytes, verified, to be freed; NULL: damaged. */
uint8_t *keep_chunk(const struct segment *s, uint32_t chunk);
/* What a note holds, behind its counts: moved, reads, unbound, ids of exits, code. */
struct note {
    uint32_t n_guest, slot, guess;
    uint16_t n_moved, n_reads, n_unbound, n_exits;
    uint8_t keeps_stack;
};
_Static_assert(KEEP_SPILLED / KEEP_UNIT < UINT32_MAX - KEEP_PIECE, "a number has 32 bits");
_Static_assert(KEEP_NOTE % KEEP_UNIT == 0 && KEEP_PIECE >= 2 * KEEP_NOTE,
               "a window holds any note that begins in its half");
/* Is there room for the note of any block?  If not, the piece goes to the file first, which only the supervisor has. */
static inline bool keep_has_room(const struct note_store *s) { return s->full || s->used + KEEP_NOTE <= KEEP_PIECE; }
void keep_spill(struct note_store *s);
/* Room for a note of so many bytes, and its number; NULL: none, the block is not kept. */
uint8_t *keep_note_room(struct note_store *s, size_t bytes, uint32_t *number);
/* Until the next call; NULL: it cannot be read. */
const struct note *keep_note(struct note_store *s, uint32_t number);
void keep_notes_forget(struct note_store *s);

#endif

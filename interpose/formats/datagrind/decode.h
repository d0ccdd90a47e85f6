/* Datagrind's records in bulk: a file is decoded buffer by buffer, accesses come out in columns, and what explains
 * them (blocks, contexts, heap blocks, tracked ranges, events) is kept.  cffi parses this file.
 */
#ifndef INTERPOSE_FORMATS_DATAGRIND_DECODE_H
#define INTERPOSE_FORMATS_DATAGRIND_DECODE_H

#include <stdint.h>

enum ip_dg_type {
    IP_DG_HEADER = 0,
    IP_DG_TRACK_RANGE = 3,
    IP_DG_UNTRACK_RANGE = 4,
    IP_DG_START_EVENT = 5,
    IP_DG_END_EVENT = 6,
    IP_DG_TEXT_AVMA = 8,
    IP_DG_MALLOC_BLOCK = 9,
    IP_DG_FREE_BLOCK = 10,
    IP_DG_BBDEF = 11,
    IP_DG_BBRUN = 12,
    IP_DG_CONTEXT = 13,
};

enum ip_dg_dir { IP_DG_READ = 0, IP_DG_WRITE = 1, IP_DG_EXEC = 2 };

enum ip_dg_status {
    IP_DG_MORE,  /* what is left of the buffer is no whole record: `need` bytes are, from `offset` on */
    IP_DG_FULL,  /* the columns are full */
    IP_DG_FATAL, /* the newest problem ends the file */
};

/* Why a record was dropped, or (from IP_DG_NO_HEADER on) why nothing can be read from there on. */
enum ip_dg_reason {
    IP_DG_UNKNOWN_TYPE = 1, /* a: the type */
    IP_DG_SECOND_HEADER,
    IP_DG_NO_INSTRUCTIONS,
    IP_DG_BAD_INSTRUCTION, /* a: the index, b: how many there are */
    IP_DG_NO_STACK,
    IP_DG_BAD_INDEX,    /* a: the index, b: how many there are */
    IP_DG_TOO_MANY,     /* a: addresses, b: accesses */
    IP_DG_TOO_LARGE,    /* a: expected, b: there; the record takes effect */
    IP_DG_UNTERMINATED, /* a string */
    IP_DG_NOT_TRACKED,  /* UNTRACK_RANGE; a: address, b: length */
    IP_DG_OVERSIZE,     /* a: payload bytes; no sensible record is so long */
    IP_DG_VERSION,      /* a: the version; reading goes on */
    IP_DG_NOT_KEPT,     /* too many heap blocks, ranges and events: what follows is not known */
    IP_DG_NO_HEADER,
    IP_DG_BAD_SIGNATURE,
    IP_DG_BAD_WORD_SIZE, /* a: the size */
    IP_DG_TOO_SHORT,
};

#define IP_DG_LONGEST      0x1000000      /* payload bytes of one record */
#define IP_DG_MOST_HISTORY 0x800000       /* heap blocks, and ranges and events */
#define IP_DG_MOST_IPS     0x1000000      /* different code addresses that are collected */
#define IP_DG_NEVER        (~(uint64_t)0) /* the end of what did not end */

enum { IP_DG_MOST_PROBLEMS = 64 }; /* what is kept of them */

struct ip_dg_problem {
    uint64_t offset, a, b;
    uint32_t reason;
};

struct ip_dg_accesses { /* columns for `capacity` accesses; each may be written to its end */
    uint64_t *instr;    /* instructions completed before the accessing one */
    uint64_t *address;
    uint64_t *ip; /* the accessing instruction */
    uint32_t *context;
    uint8_t *size, *dir;
    uint64_t capacity, count;
};

struct ip_dg_block { /* of the heap */
    uint64_t address, size;
    uint64_t begin, end;   /* instruction counts; IP_DG_NEVER: not freed */
    uint64_t offset, gone; /* of its records in the file */
    uint64_t like;         /* the first one that was allocated on the same stack, where that is known */
    uint64_t matches;      /* the conditions for ranges */
};

struct ip_dg_mark {           /* a tracked range, an event, or the text of an object */
    uint64_t address, length; /* not of events */
    uint64_t begin, end;      /* instruction counts; IP_DG_NEVER: not ended */
    uint64_t offset, gone;    /* of its records in the file */
    uint32_t type;            /* of the record that began it */
    uint32_t matches;         /* the conditions; of events, the number of the label from 1 on */
};

struct ip_dg_bbdef {
    uint64_t first_instr, first_access; /* in the arrays of struct ip_dg_definitions */
    uint64_t offset;                    /* of its record in the file */
    uint32_t n_instrs, n_accesses;
    uint32_t has_fetches; /* the tracer wrote some itself */
};

struct ip_dg_definitions {
    struct ip_dg_bbdef *bbdefs;
    uint64_t n_bbdefs;
    uint64_t *instr_address;
    uint8_t *instr_size;
    uint64_t n_instrs;
    uint8_t *access_dir, *access_size, *access_instr;
    uint64_t n_accesses;
    uint32_t *context_bbdef;
    uint64_t *context_offset; /* of its record in the file: stacks are read from there */
    uint32_t *context_like;   /* the first one with the same callers, where that is known */
    uint64_t n_contexts;
};

struct ip_dg_filter { /* which accesses are wanted; NULL and 0: no such condition */
    int by_event, by_range;
    const uint64_t *event_ips, *range_ips; /* code addresses that match, ascending */
    uint64_t n_event_ips, n_range_ips;
    /* From an offset in the file on, others take their places: which, from there to the next one's.  What was defined
     * before keeps its answer. */
    const uint64_t *later_offsets;
    const uint64_t *later_event_ips, *later_range_ips;     /* of all of them */
    const uint64_t *later_event_first, *later_range_first; /* n_later + 1 */
    uint64_t n_later;
    const char *event_labels, *range_labels; /* each ends with a NUL */
    uint64_t n_event_labels, n_range_labels;
    int any_block, any_range;
};

struct ip_dg { /* one reading of a file */
    /* What the caller sets before the first call. */
    int with_fetches;  /* instructions are accesses, too */
    int collects_ips;  /* and finds out which stacks are the same */
    int keeps_history; /* heap blocks, ranges and events, for later questions */
    const struct ip_dg_filter *filter;
    /* Where the reading is; `offset` is the one of the next record. */
    uint64_t offset, need;
    uint64_t skipped;  /* of the record that was passed over last */
    uint64_t run_done; /* accesses of that record that were given already */
    uint64_t n_records, n_bbdefs, n_contexts, n_bbruns, n_instrs, n_accesses;
    uint32_t version, big_endian, word_size;
    uint64_t n_problems;
    struct ip_dg_problem problems[IP_DG_MOST_PROBLEMS];
    struct ip_dg_problem fatal;
    /* What was read. */
    struct ip_dg_definitions defs;
    struct ip_dg_block *blocks;
    struct ip_dg_mark *marks;
    uint64_t *ips; /* different code addresses, once the file is read: ip_dg_ips */
    uint64_t n_blocks, n_marks, n_ips;
    void *own;
};

struct ip_dg *ip_dg_new(void);
void ip_dg_free(struct ip_dg *s);

/* Decode the bytes from s->offset on.  Accesses are added to the columns. */
int ip_dg_decode(struct ip_dg *s, const uint8_t *data, uint64_t size, struct ip_dg_accesses *out);

/* Another reading of the same file with the same filter, to begin at a place that was between two records: it shares
 * the definitions of `whole`, which has read the file. */
struct ip_dg *ip_dg_replay(const struct ip_dg *whole, uint64_t offset, uint64_t n_instrs, uint64_t n_bbdefs,
                           uint64_t n_contexts);

/* The same file with another filter, which is not read for that: it is replayed, and shares what `whole`, which has
 * read the file and outlives it, has kept.  `fd`, the file, is asked for stacks and labels. */
struct ip_dg *ip_dg_filtered(const struct ip_dg *whole, const struct ip_dg_filter *filter, int with_fetches, int fd);

/* How many wanted heap blocks and ranges there were at each of `n` ascending offsets in the file. */
void ip_dg_wanted_at(const struct ip_dg *s, const uint64_t *offsets, uint64_t n, uint64_t *counts);

/* The different code addresses into s->ips, ascending. */
void ip_dg_ips(struct ip_dg *s);

/* Take definitions and history from elsewhere (an index): 0, and nothing is taken, if they do not fit together. */
int ip_dg_adopt(struct ip_dg *s, const struct ip_dg_definitions *defs, const struct ip_dg_block *blocks,
                uint64_t n_blocks, const struct ip_dg_mark *marks, uint64_t n_marks);

void ip_dg_adopt_ips(struct ip_dg *s, const uint64_t *ips, uint64_t n_ips);

/* The newest heap block that was there at an instruction count and holds an address; n_blocks: none. */
uint64_t ip_dg_block_at(const struct ip_dg *s, uint64_t address, uint64_t instr);

/* The next mark from `from` on that is of a type (IP_DG_NEVER: a tracked range with the address, or an event) and was
 * there at an instruction count (IP_DG_NEVER: at any); n_marks: none. */
uint64_t ip_dg_next_mark(const struct ip_dg *s, uint64_t from, uint64_t type, uint64_t address, uint64_t instr);

#endif

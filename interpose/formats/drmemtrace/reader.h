/* Reads drmemtrace entries, versions 2 to 7: turns them into the records that tools get.  Headers, encodings, branch
 * targets and the copies where a chunk begins are taken in and not delivered.  cffi parses this file.
 */
#ifndef INTERPOSE_DRMEMTRACE_READER_H
#define INTERPOSE_DRMEMTRACE_READER_H

#include <stdint.h>

#define IP_MT_NO_CODE 0xffffffff

enum ip_mt_limit { IP_MT_EARLY = 32 }; /* markers between HEADER and PID, at most */

struct ip_mt_record { /* delivered */
    uint64_t pc;      /* of the instruction; for data and markers that of the last one */
    uint64_t addr;    /* of the access; value of the marker; target of an indirect branch (0: not said) */
    uint32_t code;    /* index of the instruction's encoding, IP_MT_NO_CODE: none */
    uint32_t tid;
    uint16_t type;
    uint16_t size;   /* of the instruction or access; a marker's number */
    uint32_t is_new; /* an instruction whose encoding was not known or has changed */
};

struct ip_mt_link {   /* of an encoding */
    uint32_t after;   /* which one came after it last */
    uint32_t is_last; /* it is what its place had last */
};

struct ip_mt_code { /* an encoding */
    uint64_t pc;
    uint8_t bytes[15];
    uint8_t length;
};

enum ip_mt_fault {
    IP_MTE_NONE,
    IP_MTE_NO_HEADER,
    IP_MTE_VERSION, /* value: the version */
    IP_MTE_TWO_HEADERS,
    IP_MTE_IN_HEADER, /* value: the type */
    IP_MTE_MANY_EARLY,
    IP_MTE_NO_THREAD,
    IP_MTE_TYPE,          /* value: the type */
    IP_MTE_RAW,           /* value: the type or marker */
    IP_MTE_ENCODING_SIZE, /* value: the size */
    IP_MTE_ENCODING_LOST, /* value: the type that follows */
    IP_MTE_LENGTH,        /* value: the encoding's length */
    IP_MTE_NO_ENCODING,   /* value: the pc */
    IP_MTE_INSTR_SIZE,    /* value: the size */
    IP_MTE_MANY_CODES,
    IP_MTE_NOMEM,
    IP_MTE_AFTER_FOOTER,
    IP_MTE_ORDINAL,    /* value: what RECORD_ORDINAL says */
    IP_MTE_NO_ORDINAL, /* where a chunk begins */
    IP_MTE_NO_FOOTER,  /* of a component or of the file */
};

struct ip_mt_reader {
    uint32_t version, filetype;
    uint32_t tid, pid;
    uint64_t cache_line, page, chunk_instrs; /* 0: not said */
    uint64_t entries, records, instrs;       /* read, delivered, fetched */
    uint64_t first_timestamp;
    uint64_t last_timestamp, last_cpu;     /* copies, too */
    uint64_t copied_timestamp, copied_cpu; /* where the last chunk began */
    uint64_t pc;
    uint64_t target;
    uint64_t chunk;     /* chunks that have ended */
    uint32_t state;     /* 0: nothing yet, 1: in the header, 2: behind it, 3: behind the footer */
    uint32_t strict;    /* RECORD_ORDINAL must be right */
    uint32_t in_middle; /* began at a chunk: records and instrs are what RECORD_ORDINAL and the caller say */
    uint32_t copies;    /* 1: RECORD_ORDINAL may come, 2: TIMESTAMP, 4: CPU_ID */
    uint32_t encoding_length, has_target;
    uint8_t encoding[16];
    uint32_t last_type, last_marker;
    uint32_t fault;
    uint32_t n_early;
    uint64_t value; /* of the fault */
    struct ip_mt_record early[IP_MT_EARLY];
    /* Encodings: all that were seen, and where they are by pc and by pc and bytes. */
    struct ip_mt_code *codes;
    struct ip_mt_link *links; /* beside them */
    uint32_t newest;          /* the last instruction's code */
    uint64_t n_codes, room, most_codes;
    uint32_t *by_pc, *by_bytes; /* index + 1; 0: free */
    uint64_t mask, seed, n_pcs;
};

/* most_codes: how many encodings may be kept. */
int ip_mt_reader_open(struct ip_mt_reader *r, uint64_t most_codes, uint64_t seed);
void ip_mt_reader_close(struct ip_mt_reader *r);
/* Begin at a chunk behind the first; what the header said comes from a reader that has read it. */
void ip_mt_reader_begin(struct ip_mt_reader *r, const struct ip_mt_reader *header);
/* Read n entries; out has room for n + IP_MT_EARLY records.  Returns the number of records; with r->fault set, those
 * before the entry that is wrong, which is number r->entries. */
uint64_t ip_mt_read(struct ip_mt_reader *r, const uint8_t *entries, uint64_t n, struct ip_mt_record *out);
/* A component, or the file when is_file, has ended.  Returns the fault. */
uint32_t ip_mt_reader_end(struct ip_mt_reader *r, int is_file);

#endif

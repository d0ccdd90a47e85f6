/* What datagrind's part in the program and its part in the supervisor say to each other: client requests that the
 * program itself cannot make, and the memory that both have.  cffi parses this file. */
#ifndef INTERPOSE_DATAGRIND_ABI_H
#define INTERPOSE_DATAGRIND_ABI_H

#include <stdint.h>

/* The memory file (descriptor) of DG_SHARED bytes, which the supervisor maps.  Result 0: it has. */
#define DG_RQ_ATTACH 0x44470201
/* Chunk number, bytes in it, how many of them are whole records.  The chunk goes to the file; answered when the next
 * two chunks may be written to.  Result 0: go on; else nothing more is recorded. */
#define DG_RQ_CHUNK 0x44470202
/* The same for the address of whole records, their bytes, where the memory could not be mapped; answered when they are
 * written. */
#define DG_RQ_BYTES 0x44470203

/* The shared memory: chunks, filled one after the other; room for what the last one has too much; the mailbox. */
#define DG_CHUNK   0x400000
#define DG_CHUNKS  8
#define DG_SLACK   0x40000
#define DG_MAILBOX 0x2040000
#define DG_SHARED  0x2080000

/* Records of the supervisor's that belong between the program's, in a ring: objects, each before code of it runs. */
#define DG_MAIL      0x30000
#define DG_MAIL_HEAD 32 /* before them */
struct dg_mailbox {
    uint64_t put, taken; /* bytes, ever */
    uint64_t filled;     /* chunk number << 32 | bytes in it that are whole records: for when the program is killed */
    uint64_t pad;
    /* DG_MAIL bytes */
};

#endif

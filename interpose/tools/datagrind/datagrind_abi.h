/* What datagrind's part in the program and its part in the supervisor say to each other: client requests that the
 * program itself cannot make, and the memory that both have.  cffi parses this file. */
#ifndef INTERPOSE_DATAGRIND_ABI_H
#define INTERPOSE_DATAGRIND_ABI_H

#include <stdint.h>

/* The memory file (descriptor) of DG_SHARED bytes, which the supervisor maps.  Result 0: it has. */
#define DG_RQ_ATTACH 0x44470201
/* Nothing more could be written, and the program knows now. */
#define DG_RQ_STOPPED 0x44470202
/* Address of whole records, their bytes, where the memory could not be mapped; answered when they are written.  Result
 * 0: go on; else nothing more is recorded. */
#define DG_RQ_BYTES 0x44470203

/* The shared memory: pieces that the program fills with whole records, and the mailbox. */
#define DG_PIECE   0x40000
#define DG_PIECES  64 /* bits of dg_mailbox.free */
#define DG_MAILBOX 0x1000000
#define DG_SHARED  0x1040000
#define DG_OWNERS  32  /* threads that fill a piece of their own, at most */
#define DG_PLACES  33  /* theirs, and one for what all need */
#define DG_QUEUE   256 /* entries; a power of two */

/* Records of the supervisor's that belong between the program's, in a ring: objects, each before code of it runs. */
#define DG_MAIL 0x30000
struct dg_mailbox {      /* DG_PLACES, DG_QUEUE and DG_MAIL are numbers here, for cffi */
    uint64_t put, taken; /* mail: bytes, ever */
    uint64_t free;       /* pieces, a bit each: the program clears, who writes sets */
    uint32_t queued;     /* entries, ever: by the program */
    uint32_t written;    /* entries that are: by who writes */
    uint32_t bell;       /* futexes: there is something to do for who writes, */
    uint32_t progress;   /* and for the program */
    uint32_t sleeping;   /* who writes waits for the bell, */
    uint32_t waiting;    /* the program for progress */
    uint32_t stopped;    /* nothing more can be written */
    uint32_t pad;
    /* Whole records that are not queued yet, for when the program is killed: where they begin << 32 | where they end,
     * in the shared memory.  The first is of what all threads need, the others are threads' own. */
    uint64_t unqueued[33];
    struct dg_entry { /* whole records; they go to the file in this order */
        uint32_t at;  /* in the shared memory */
        uint32_t bytes;
        uint32_t done; /* 1 + number of the piece that is free afterwards, or 0 */
    } queue[256];
    uint8_t mail[0x30000];
};

#endif

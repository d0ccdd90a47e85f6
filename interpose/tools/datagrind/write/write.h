/* The file of accesses: what the program queues (datagrind_abi.h), written beside it. */
#ifndef INTERPOSE_DATAGRIND_WRITE_H
#define INTERPOSE_DATAGRIND_WRITE_H

#include <stdint.h>

struct dg_writer {
    int fd;
    int flags;      /* of the descriptor, without O_DIRECT */
    int regular;    /* a file whose bytes may lie past the kernel's cache, and that can be cut */
    int direct;     /* they do */
    int error;      /* why nothing more is written, 0: all is well */
    int ending;     /* what is queued is the rest; 2: and what the program had not queued */
    uint64_t size;  /* bytes in the file */
    uint64_t whole; /* of them, those of whole records */
    uint64_t took;  /* ns, to write the first bytes past the cache */
    uint8_t *stage; /* what goes there next, whole pages but for the end */
    uint64_t staged;
    uint64_t first; /* in the stage: where the first record begins */
};

/* How many of the bytes, which begin with a record, are whole ones. */
uint64_t dg_whole_records(const uint8_t *data, uint64_t n);

/* A file from its beginning on; NULL: no memory. */
struct dg_writer *dg_writer_new(int fd, int regular);
/* Whole records that come next. */
void dg_writer_put(struct dg_writer *w, const uint8_t *data, uint64_t n);
/* Write what comes through the shared memory, until ending says so. */
void dg_writer_run(struct dg_writer *w, uint8_t *shared);
/* There is something to do for it. */
void dg_ring(uint8_t *shared);
/* What was put is in the file, which ends with a whole record; w is the caller's to free. */
void dg_writer_close(struct dg_writer *w);

#endif

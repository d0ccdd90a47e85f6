/* What datagrind's part in the program and its part in the supervisor say to each other: client requests that the
 * program itself cannot make, and the memory that both have.  cffi parses this file. */
#ifndef INTERPOSE_DATAGRIND_ABI_H
#define INTERPOSE_DATAGRIND_ABI_H

#include <stdint.h>

/* 1: the memory file (descriptor) of DG_SHARED bytes, which the supervisor maps.  Result 0: it has. */
#define DG_RQ_ATTACH 0x44470201
/* Chunk number, bytes in it, how many of them are whole records.  The chunk goes to the file; answered when the next
 * chunk may be written to.  Result 0: go on; else nothing more is recorded. */
#define DG_RQ_CHUNK 0x44470202
/* The same for an address instead of a number, where the memory could not be mapped; answered when it is written. */
#define DG_RQ_BYTES 0x44470203

/* The shared memory: chunks, filled one after the other. */
#define DG_CHUNK  0x400000
#define DG_CHUNKS 8
#define DG_SHARED 0x2000000

#endif

/* Writes drmemtrace entries of one thread, version 7: what comes between the records (encodings, targets, chunks) is
 * the writer's.  It keeps no file: entries go to a buffer of its own, which the caller empties.  cffi parses this file.
 *
 *     ip_mt_open(&w, version, filetype, tid, pid, chunk_instrs, capacity)
 *     ip_mt_marker(&w, IP_MTM_TIMESTAMP, us), ip_mt_marker(&w, IP_MTM_CPU_ID, cpu)
 *     ip_mt_instr, ip_mt_data, ip_mt_no_fetch, ip_mt_marker, in the order of execution, or many by ip_mt_write
 *     ip_mt_end(&w), ip_mt_close(&w)
 *
 * IP_MT_FULL and IP_MT_CHUNK say that the call has done nothing: take w.used bytes at w.out, and with IP_MT_CHUNK end
 * the component of the archive, too; then ip_mt_taken(&w), and the same call again.  After ip_mt_end has returned
 * IP_MT_OK the rest is in the buffer.  Most often the buffer is full before an instruction, and w.whole says so: what
 * was taken up to there is a valid trace once THREAD_EXIT and FOOTER are added (with IP_MT_CHUNK: up to the footer, the
 * last entry).  Values below zero say that the trace cannot be written so; the writer is as it was before the call.
 *
 * A chunk ends before the first instruction behind chunk_instrs of them, so data and markers stay with theirs.
 */
#ifndef INTERPOSE_DRMEMTRACE_WRITER_H
#define INTERPOSE_DRMEMTRACE_WRITER_H

#include <stdint.h>

enum ip_mt_result {
    IP_MT_OK,
    IP_MT_FULL,         /* the buffer is to be emptied */
    IP_MT_CHUNK,        /* the same, and a chunk is complete */
    IP_MT_NOMEM = -1,   /* no memory for the encodings */
    IP_MT_BADTYPE = -2, /* no type of an entry that a caller may write */
    IP_MT_BADSIZE = -3, /* no length of an instruction (1 to 15) */
    IP_MT_CLOSED = -4,  /* after ip_mt_end */
};

struct ip_mt_writer {
    uint8_t *out;
    uint64_t used, capacity; /* bytes */
    uint64_t tid, pid;
    uint64_t chunk_instrs; /* of a chunk; 0: one chunk, however long */
    uint64_t chunk, instrs_in_chunk;
    uint64_t instrs, records; /* records: those that a reader delivers */
    uint64_t timestamp, cpu;  /* the last ones, repeated where a chunk begins */
    uint32_t version, filetype;
    uint8_t has_timestamp, has_cpu;
    uint8_t cut;   /* 1: the footer is written, the chunk not taken yet; 2: the next entry begins a chunk */
    uint8_t whole; /* what is in the buffer ends where an instruction and all that belongs to it ends */
    uint8_t ended;
    /* Encodings by pc: open addressing, stamped with the chunk that has them. */
    void *codes;
    uint64_t codes_mask, codes_used;
    uint64_t changes; /* how often a pc has got another encoding than it had */
};

struct ip_mt_item { /* for ip_mt_write: a record without what the writer adds */
    uint16_t type;  /* enum ip_mt_type */
    uint16_t size;  /* of the instruction or access; a marker's number */
    uint8_t code[16];
    uint32_t known;  /* 1 + a chunk that has this encoding, 0: look it up */
    uint64_t addr;   /* pc, address of the access, or value of the marker */
    uint64_t target; /* of an indirect branch */
};

/* Writes the header.  capacity: bytes of the buffer, at least 4096. */
int ip_mt_open(struct ip_mt_writer *w, uint32_t version, uint32_t filetype, uint64_t tid, uint64_t pid,
               uint64_t chunk_instrs, uint64_t capacity);
/* code: size bytes, or NULL where the file type has no encodings.  target: where an indirect branch went. */
int ip_mt_instr(struct ip_mt_writer *w, uint32_t type, uint64_t pc, uint32_t size, const uint8_t *code,
                uint64_t target);
/* A further iteration of a string instruction. */
int ip_mt_no_fetch(struct ip_mt_writer *w, uint64_t pc, uint32_t size);
/* READ, WRITE, a prefetch or a flush. */
int ip_mt_data(struct ip_mt_writer *w, uint32_t type, uint32_t size, uint64_t addr);
int ip_mt_marker(struct ip_mt_writer *w, uint32_t id, uint64_t value);
/* Many; *done: how many of them were written. */
int ip_mt_write(struct ip_mt_writer *w, const struct ip_mt_item *items, uint64_t n, uint64_t *done);
/* The caller has the bytes. */
void ip_mt_taken(struct ip_mt_writer *w);
/* THREAD_EXIT and FOOTER. */
int ip_mt_end(struct ip_mt_writer *w);
/* Frees memory. */
void ip_mt_close(struct ip_mt_writer *w);

#endif

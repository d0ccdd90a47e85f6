/* Turns what threads left in a raw file (memtrace_abi.h) into the records of drmemtrace traces.  cffi parses this file.
 *
 *     ip_mtf_scan: the frames of the file, then for each thread, in parallel if wanted:
 *     ip_mtf_open(&f, ...)
 *     while ((r = ip_mtf_run(&f)) > 0) take f.w.used bytes at f.w.out, end the chunk if r is IP_MT_CHUNK,
 * ip_mt_taken(&f.w) take the rest, ip_mtf_close(&f)
 *
 * What ends in the middle of a record, or has what cannot be, is taken up to there: f.bad says why. */
#ifndef INTERPOSE_MEMTRACE_FINISH_H
#define INTERPOSE_MEMTRACE_FINISH_H

#include <stdint.h>

#include "abi/trace.h"
#include "formats/drmemtrace/writer.h"

struct ip_mtf_function { /* by the number that templates have */
    uint64_t entry;
    uint32_t id;
    uint16_t n_args;
    uint16_t noret;
};

struct ip_mtf_time { /* for the schedule: where a thread was at a time */
    uint64_t timestamp, cpu, instruction;
};

struct ip_mtf_frame {
    uint64_t sp, value;
};

#define IP_MTF_ITEMS 1024

struct ip_mtf_seen {  /* of a template */
    uint32_t block;   /* 1 + its place in the image / 8, once it is known that it can be used */
    uint32_t upto;    /* so many instructions have their encodings in the trace, */
    uint32_t chunk;   /* in this chunk, */
    uint64_t changes; /* if the writer's number of changes is still this */
};

struct ip_mtf_part { /* of a raw file: what a frame holds */
    uint64_t offset, bytes;
    uint32_t tid, number;
};

struct ip_mtf {
    struct ip_mt_writer w;
    /* given */
    const uint8_t *image; /* templates */
    uint64_t image_bytes, image_address;
    const uint8_t *raw;
    const struct ip_mtf_part *parts; /* the thread's */
    uint64_t n_parts, part;
    void *reader; /* struct pk_reader */
    const struct ip_mtf_function *functions;
    uint64_t n_functions;
    const int8_t *syscall_args; /* by number: arguments to record, or -1 */
    uint64_t n_syscalls;
    uint64_t traced_ids; /* not 0: function markers are wanted */
    /* how far it is */
    const char *bad; /* why the records end, NULL: they are whole */
    uint64_t instrs; /* so far */
    uint64_t skip, take;
    uint64_t fs, gs;
    uint64_t held_time, held_cpu;
    uint64_t last_time;
    uint64_t window, gaps;         /* code that was not recorded begins another window, too */
    uint64_t iteration;            /* of the string instruction under way */
    int64_t syscall;               /* under way, or -1 */
    uint32_t insn;                 /* of the run under way */
    uint32_t first;                /* of those that it is to have */
    uint64_t at_chunk, at_changes; /* of the writer, when its first instruction was written */
    uint8_t in_run, in_rep, cutting, has_held, ended, running, done;
    uint8_t whole;        /* what was written so far ends where an instruction and all that belongs to it does */
    uint8_t pending_kind; /* enum ip_tr_kind of the instruction at pending */
    uint64_t pending_next, pending_target;
    int32_t pending; /* index of the item that waits for the next pc, or -1 */
    uint32_t n_items, written;
    uint64_t pending_sp, pending_result;
    uint8_t pending_has_result, pending_has_sp;
    struct ip_mtf_seen *seen; /* by number of a template */
    struct ip_mtf_time *times;
    uint64_t n_times, room_times;
    struct ip_mtf_frame *calls, *entered;
    uint64_t n_calls, room_calls, n_entered, room_entered;
    /* the record under way: of a run if block is not NULL */
    const struct ip_tr_block *block;
    uint32_t completed, n_record;
    uint64_t record[4096];
    struct ip_mt_item items[1024]; /* IP_MTF_ITEMS; cffi wants the number */
};

/* How many frames there are; the first n go to parts.  The last one may be shorter than its head says.  -1: no raw
 * file; -2: one of another build, whose templates are laid out otherwise. */
int64_t ip_mtf_scan(const void *raw, uint64_t raw_bytes, struct ip_mtf_part *parts, uint64_t n);
/* templates: the bytes of all frames of templates, one behind the other.  parts: those of one thread, in raw. */
int ip_mtf_open(struct ip_mtf *f, const void *templates, uint64_t templates_bytes, const void *raw,
                const struct ip_mtf_part *parts, uint64_t n_parts, uint64_t chunk_instrs, uint64_t capacity);
int ip_mtf_run(struct ip_mtf *f);
void ip_mtf_close(struct ip_mtf *f);

#endif

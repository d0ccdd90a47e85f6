/* The body of a profile: rows become lines of text, functions with their costs, calls and jumps. */
#ifndef INTERPOSE_CALLGRIND_BODY_H
#define INTERPOSE_CALLGRIND_BODY_H

#include <stdint.h>

struct cg_taken;
struct cg_writer;
struct ip_lines;

/* Where an object is or was mapped: addresses less bias are link-time ones. */
struct cg_placed {
    uint64_t start, end, bias;
};

/* What a context stands for. */
struct cg_where {
    const struct ip_lines *lines; /* of its object; NULL: none */
    const char *object, *name;
    const struct cg_placed *placed; /* the last one first */
    uint64_t n_placed;
    uint64_t start; /* link-time, of the function; ~0: not known */
    /* The functions of the object, ascending; same: which one each is a part of, NULL: each is one.  NULL: the object
     * is not known. */
    const uint64_t *starts, *ends;
    const uint32_t *same;
    uint64_t n_functions;
    int64_t function; /* among them; -1: none that a symbol names */
};

struct cg_form {
    uint32_t n_events, with_instr, with_line, compress_names, compress_pos;
};

/* Writes parts into one file, in which each name is said once.  NULL: no memory. */
struct cg_writer *cg_writer_new(struct cg_form form);
void cg_writer_free(struct cg_writer *w);
/* The next part begins: KCachegrind forgets at its end which number means which name. */
void cg_writer_part(struct cg_writer *w);
/* Write what t holds; where: by number of context, less one.  0, or an error number. */
int cg_write_body(struct cg_writer *w, const struct cg_taken *t, const struct cg_where *where, int fd);

#endif

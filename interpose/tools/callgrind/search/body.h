/* The body of a profile: rows become lines of text, functions with their costs, calls and jumps. */
#ifndef INTERPOSE_CALLGRIND_BODY_H
#define INTERPOSE_CALLGRIND_BODY_H

#include <stdint.h>

struct cg_taken;
struct cg_writer;
struct ip_lines;
struct ip_symbols;

/* Where an object is or was mapped: addresses less bias are link-time ones. */
struct cg_placed {
    uint64_t start, end, bias;
};

/* A mapped file. */
struct cg_object {
    const char *path;
    const struct ip_lines *lines;   /* NULL: none */
    const struct cg_placed *placed; /* the last one first */
    uint64_t n_placed;
    const struct ip_symbols *code; /* its functions, ascending, whose numbers begin at base */
    const uint32_t *same;          /* which one each is a part of, NULL: each is one */
    uint32_t base, is_used;        /* a context is in it */
};

/* What a context stands for. */
struct cg_where {
    const struct cg_object *object; /* NULL: it is not known */
    const char *name;
    uint64_t start;   /* link-time, of the function; ~0: not known */
    int64_t function; /* of the object; -1: none that a symbol names */
};

/* Fill where for the contexts of t behind the first ones, as far as symbols say it; name is NULL of others.  objects: n
 * of them, by base. */
void cg_describe(const struct cg_taken *t, uint64_t from, struct cg_where *where, struct cg_object *const *objects,
                 uint64_t n);

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

/* A trace as a picture: sums of accesses by time and address at several zoom levels, and views drawn from them or from
 * the accesses themselves.  cffi parses this file.
 *
 * Across are the addresses of the touched pages, one page after the other (a column is a place in this order), down is
 * the number of instructions completed.
 */
#ifndef INTERPOSE_DGVIEW_GRID_H
#define INTERPOSE_DGVIEW_GRID_H

#include <stdint.h>

#include "formats/datagrind/decode.h"

#define IP_GRID_PAGE_BITS  12
#define IP_GRID_LINE_BITS  6
#define IP_GRID_MOST_PAGES 0x400000 /* accesses beyond are counted in `left_out` */
#define IP_GRID_MOST_ROWS  16384
#define IP_GRID_CELLS      0x1000000 /* of the finest level, as is usual */

enum { IP_GRID_LEVELS = 12 };

struct ip_grid_cell {
    uint32_t row;
    uint16_t part;    /* of its page */
    uint16_t sums[3]; /* reads, writes, fetches; 65535: that many or more; of a filter, 1: there are some */
};

struct ip_grid_level {
    uint32_t row_bits, part_bits; /* a cell is 1 << row_bits instructions high and 1 << part_bits bytes wide */
    uint64_t *first;              /* of each page, and one more: its cells, by row and part */
    struct ip_grid_cell *cells;
    uint64_t n_cells;
};

struct ip_grid {
    uint64_t *pages; /* numbers of the touched ones, ascending */
    uint64_t n_pages;
    uint64_t n_instrs; /* one more than the last accessing instruction's number */
    uint64_t left_out;
    uint64_t most_cells;
    uint32_t n_levels;
    struct ip_grid_level levels[IP_GRID_LEVELS];
    void *own;
};

struct ip_grid_view {
    uint64_t left, right, top, bottom; /* columns and instruction counts; right and bottom are outside */
    uint32_t width, height;
};

struct ip_grid_found { /* the accesses of one rectangle */
    uint64_t sums[3];
    uint64_t distance; /* of the nearest to the middle */
    int any;
    uint64_t instr, address, ip;
    uint32_t context, size, dir;
};

struct ip_grid *
ip_grid_new(uint64_t most_cells); /* of the finest level, beyond which it gets coarser; 0: as is usual */
void ip_grid_free(struct ip_grid *g);
void ip_grid_add(struct ip_grid *g, const struct ip_dg_accesses *a);
void ip_grid_finish(struct ip_grid *g);
/* What a grid has that is being made, finished, with the pages and the time of another. */
struct ip_grid *ip_grid_so_far(const struct ip_grid *g, const struct ip_grid *base, uint64_t most_cells);

struct ip_grid_cursors { /* of one who marks */
    const struct ip_grid *g;
    uint8_t *marks;
    uint64_t n_instrs, left_out;
    void *own;
};

/* Accesses of a filter are some of those that a grid has: a byte for each cell of its finest level has bit `dir` set if
 * there is such an access, once it is settled.  Several threads may mark at a time, each with cursors of its own. */
struct ip_grid_cursors *ip_grid_cursors_new(const struct ip_grid *g, uint8_t *marks);
void ip_grid_cursors_free(struct ip_grid_cursors *c);
void ip_grid_mark(struct ip_grid_cursors *c, const struct ip_dg_accesses *a);
void ip_grid_settle(struct ip_grid_cursors *c);
/* A finished grid of what is marked, with all pages and all the time of `of`, or with those pages that are needed. */
struct ip_grid *ip_grid_marked(const struct ip_grid *of, const uint8_t *marks, int keeps_axes);

/* A grid from an index.  0, and nothing is taken, if the parts do not fit together. */
int ip_grid_adopt_pages(struct ip_grid *g, const uint64_t *pages, uint64_t n_pages, uint64_t n_instrs);
int ip_grid_adopt_level(struct ip_grid *g, uint32_t row_bits, uint32_t part_bits, const uint64_t *first,
                        const struct ip_grid_cell *cells, uint64_t n_cells);

/* Draw: bit `dir` is set in each byte of width * height that has such an access. */
void ip_grid_draw_level(const struct ip_grid *g, uint32_t level, const struct ip_grid_view *v, uint8_t *out);
void ip_grid_draw(const struct ip_grid *g, const struct ip_dg_accesses *a, const struct ip_grid_view *v, uint8_t *out);

/* Set rows[i] for each row of the finest level, below `n`, that has a cell in the view's columns. */
void ip_grid_rows(const struct ip_grid *g, const struct ip_grid_view *v, uint8_t *rows, uint64_t n);

/* The column of an address; of one that was not touched, the next page's first. */
uint64_t ip_grid_column(const struct ip_grid *g, uint64_t address);

/* Add the accesses in a rectangle to what was found. */
void ip_grid_find(const struct ip_grid *g, const struct ip_dg_accesses *a, const struct ip_grid_view *v,
                  struct ip_grid_found *found);

#endif

/* The grid of a filter: some of the cells of a grid that has all accesses. */
#include <stdbool.h>
#include <stdlib.h>

#include "dgview/grid.h"
#include "jit/lastwords.h"

#define CURSORS 8192 /* pages that are remembered */
#define NOWHERE UINT64_MAX

_Static_assert(IP_GRID_PAGE_BITS - IP_GRID_LINE_BITS <= 6, "a bit for each part of a page");

struct cursor { /* a page, in the row where it was accessed last */
    uint64_t number, stop;
    uint64_t first, end;           /* the row's cells; */
    uint64_t parts;                /* their parts, */
    uint64_t seen[IP_DG_EXEC + 1]; /* and those of them that are to be marked */
    uint32_t row;
    bool is_there;
};

struct ip_grid_cursors *ip_grid_cursors_new(const struct ip_grid *g, uint8_t *marks) {
    struct ip_grid_cursors *c = ip_alloc(1, sizeof *c);
    c->g = g;
    c->marks = marks;
    struct cursor *own = c->own = ip_alloc(CURSORS, sizeof *own);
    for (unsigned i = 0; i < CURSORS; i++) own[i].number = NOWHERE;
    return c;
}

void ip_grid_cursors_free(struct ip_grid_cursors *c) {
    free(c->own);
    free(c);
}

static void settle(struct ip_grid_cursors *c, struct cursor *at) {
    for (int dir = 0; dir <= IP_DG_EXEC; dir++) {
        for (uint64_t left = at->seen[dir] & at->parts; left; left &= left - 1) {
            uint64_t below = (left & -left) - 1;
            /* Others mark this row as well, where it lies on the border of what they read. */
            __atomic_fetch_or(&c->marks[at->first + (uint64_t)__builtin_popcountll(at->parts & below)],
                              (uint8_t)(1 << dir), __ATOMIC_RELAXED);
        }
        at->seen[dir] = 0;
    }
}

void ip_grid_settle(struct ip_grid_cursors *c) {
    struct cursor *own = c->own;
    for (unsigned i = 0; i < CURSORS; i++) settle(c, &own[i]);
}

/* The first cell of [low, high), which are one page's, that is in a row or behind it. */
static uint64_t row_at(const struct ip_grid_level *level, uint64_t low, uint64_t high, uint64_t row) {
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (level->cells[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void enter_row(const struct ip_grid_level *level, struct cursor *at, uint64_t first, uint64_t row) {
    at->first = first;
    at->parts = 0;
    for (at->end = first; at->end < at->stop && level->cells[at->end].row == row; at->end++)
        at->parts |= 1ull << level->cells[at->end].part % 64;
    at->row = (uint32_t)row;
}

static void enter_page(struct ip_grid_cursors *c, struct cursor *at, uint64_t number, uint64_t row) {
    const struct ip_grid_level *level = &c->g->levels[0];
    uint64_t rank = ip_grid_column(c->g, number << IP_GRID_PAGE_BITS) >> IP_GRID_PAGE_BITS;
    at->number = number;
    at->is_there = rank < c->g->n_pages && c->g->pages[rank] == number;
    at->parts = 0;
    if (!at->is_there) return;
    at->stop = level->first[rank + 1];
    enter_row(level, at, row_at(level, level->first[rank], at->stop, row), row);
}

static void mark(struct ip_grid_cursors *c, uint64_t address, uint64_t row, uint32_t dir) {
    const struct ip_grid_level *level = &c->g->levels[0];
    uint64_t number = address >> IP_GRID_PAGE_BITS;
    struct cursor *at = (struct cursor *)c->own + number % CURSORS;
    if (at->number != number || at->row != row) {
        settle(c, at);
        /* Mostly it is the page's next row. */
        bool is_next = at->number == number && at->is_there && row > at->row && at->end < at->stop &&
                       level->cells[at->end].row == row;
        if (is_next)
            enter_row(level, at, at->end, row);
        else
            enter_page(c, at, number, row);
    }
    at->seen[dir] |= 1ull << ((address & ((1u << IP_GRID_PAGE_BITS) - 1)) >> level->part_bits);
    c->left_out += !at->is_there;
}

void ip_grid_mark(struct ip_grid_cursors *c, const struct ip_dg_accesses *a) {
    const struct ip_grid_level *level = &c->g->levels[0];
    if (!c->g->n_levels) return;
    uint32_t row_bits = level->row_bits, part_bits = level->part_bits;
    for (uint64_t i = 0; i < a->count; i++) {
        uint32_t dir = a->dir[i];
        if (dir > IP_DG_EXEC) continue;
        uint64_t instr = a->instr[i], address = a->address[i];
        uint64_t last = address + (a->size[i] ? a->size[i] - 1u : 0);
        if (last < address) last = IP_DG_NEVER;
        if (instr >= c->n_instrs) c->n_instrs = instr + 1;
        mark(c, address, instr >> row_bits, dir);
        for (uint64_t next = (address >> part_bits) + 1; next <= last >> part_bits && next; next++)
            mark(c, next << part_bits, instr >> row_bits, dir);
    }
}

#include "dgview/grid.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jit/lastwords.h"

#define PAGE       (1u << IP_GRID_PAGE_BITS)
#define PARTS      (1u << (IP_GRID_PAGE_BITS - IP_GRID_LINE_BITS)) /* of a page, at the finest */
#define OPEN_PAGES 16384                                           /* with sums of the row under way */
#define TOP_CELLS  0x8000                                          /* a level of so few cells needs none above it */
#define NO_PAGE    0xffffffffu

struct open_page {
    uint64_t touched; /* parts */
    uint32_t page;
    uint32_t sums[PARTS][3];
};

struct loose_cell { /* on its way into the grid */
    uint32_t page;
    struct ip_grid_cell cell;
};

struct build {
    struct known_page { /* by page number, open addressing */
        uint64_t number;
        uint32_t page; /* in order of appearance; NO_PAGE: free */
    } *table;
    uint64_t table_cap;
    uint64_t *numbers;     /* by page */
    uint32_t *open_of;     /* by page: 1 + its place in `open` */
    uint64_t numbers_room; /* for both */
    uint32_t n_pages;
    struct open_page *open;
    uint32_t n_open;
    uint32_t row, most_row, row_bits, part_bits;
    struct loose_cell *cells;
    uint64_t n_cells, cells_room;
    uint64_t n_settled; /* of them by page and row, each once */
    uint64_t last_number;
    uint32_t last_page;
};

/* ---- Building ------------------------------------------------------------------------------------ */

static uint32_t page_of(struct ip_grid *g, uint64_t number) {
    struct build *b = g->own;
    if (number == b->last_number && b->last_page != NO_PAGE) return b->last_page;
    uint64_t mask = b->table_cap - 1, i = (number * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (b->table[i].page != NO_PAGE && b->table[i].number != number) i = (i + 1) & mask;
    if (b->table[i].page == NO_PAGE) {
        if (b->n_pages == IP_GRID_MOST_PAGES) return NO_PAGE;
        b->table[i] = (struct known_page){number, b->n_pages};
        if (b->n_pages == b->numbers_room) {
            b->numbers_room = b->numbers_room ? 2 * b->numbers_room : 1024;
            b->numbers = ip_realloc(b->numbers, b->numbers_room * sizeof *b->numbers);
            b->open_of = ip_realloc(b->open_of, b->numbers_room * sizeof *b->open_of);
        }
        b->numbers[b->n_pages] = number;
        b->open_of[b->n_pages++] = 0;
        if (2 * (uint64_t)b->n_pages > b->table_cap) {
            struct known_page *old = b->table;
            uint64_t cap = b->table_cap;
            b->table_cap *= 2;
            b->table = ip_alloc(b->table_cap, sizeof *b->table);
            mask = b->table_cap - 1;
            for (uint64_t k = 0; k < b->table_cap; k++) b->table[k].page = NO_PAGE;
            for (uint64_t k = 0; k < cap; k++) {
                if (old[k].page == NO_PAGE) continue;
                i = (old[k].number * 0x9e3779b97f4a7c15u >> 20) & mask;
                while (b->table[i].page != NO_PAGE) i = (i + 1) & mask;
                b->table[i] = old[k];
            }
            free(old);
        }
        b->last_page = b->n_pages - 1;
    } else {
        b->last_page = b->table[i].page;
    }
    b->last_number = number;
    return b->last_page;
}

static uint16_t clamped(uint32_t sum) { return sum > 0xffff ? 0xffff : (uint16_t)sum; }

static void add_cell(struct build *b, struct loose_cell cell) {
    if (b->n_cells == b->cells_room) {
        b->cells_room = b->cells_room ? 2 * b->cells_room : 4096;
        b->cells = ip_realloc(b->cells, b->cells_room * sizeof *b->cells);
    }
    b->cells[b->n_cells++] = cell;
}

static void close_row(struct build *b) {
    for (uint32_t i = 0; i < b->n_open; i++) {
        struct open_page *o = &b->open[i];
        for (uint64_t left = o->touched; left; left &= left - 1) {
            unsigned part = (unsigned)__builtin_ctzll(left);
            const uint32_t *sums = o->sums[part];
            add_cell(b, (struct loose_cell){
                            o->page, {b->row, (uint16_t)part, {clamped(sums[0]), clamped(sums[1]), clamped(sums[2])}}});
            memset(o->sums[part], 0, sizeof o->sums[part]);
        }
        o->touched = 0;
        b->open_of[o->page] = 0;
    }
    b->n_open = 0;
}

/* The cells of one page and row, in any order, each part once: at `to`, which may be where they are. */
static struct loose_cell *settle_row(const struct loose_cell *from, uint64_t n, struct loose_cell *to) {
    if (n == 1) {
        *to = *from;
        return to + 1;
    }
    uint32_t sums[PARTS][3];
    uint64_t touched = 0;
    uint32_t page = from->page, row = from->cell.row;
    for (uint64_t i = 0; i < n; i++) {
        unsigned part = from[i].cell.part % PARTS;
        if (!(touched >> part & 1)) memset(sums[part], 0, sizeof sums[part]);
        touched |= 1ull << part;
        for (int k = 0; k < 3; k++) sums[part][k] = clamped(sums[part][k] + from[i].cell.sums[k]);
    }
    for (; touched; touched &= touched - 1) {
        unsigned part = (unsigned)__builtin_ctzll(touched);
        const uint32_t *s = sums[part];
        *to++ = (struct loose_cell){page, {row, (uint16_t)part, {(uint16_t)s[0], (uint16_t)s[1], (uint16_t)s[2]}}};
    }
    return to;
}

/* Equal cells become one.  They are by page, and within a page by row. */
static uint64_t settle(struct loose_cell *cells, uint64_t n) {
    struct loose_cell *to = cells;
    for (uint64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && cells[end].page == cells[i].page && cells[end].cell.row == cells[i].cell.row;)
            end++;
        to = settle_row(cells + i, end - i, to);
    }
    return (uint64_t)(to - cells);
}

static int by_row(const void *a, const void *b) {
    uint32_t x = ((const struct loose_cell *)a)->cell.row, y = ((const struct loose_cell *)b)->cell.row;
    return (x > y) - (x < y);
}

/* Each page's cells by row.  They are, but where an access was made by an instruction that was not completed. */
static void sort_rows(struct loose_cell *cells, uint64_t n) {
    for (uint64_t i = 0, end; i < n; i = end) {
        bool is_sorted = true;
        for (end = i + 1; end < n && cells[end].page == cells[i].page; end++)
            is_sorted &= cells[end - 1].cell.row <= cells[end].cell.row;
        if (!is_sorted) qsort(cells + i, end - i, sizeof *cells, by_row);
    }
}

/* By page, in the order of `rank`, and otherwise as they were. */
static void sort_by_page(struct build *b, const uint32_t *rank) {
    uint64_t *place = ip_alloc((uint64_t)b->n_pages + 1, sizeof *place);
    for (uint64_t i = 0; i < b->n_cells; i++) place[rank[b->cells[i].page] + 1]++;
    for (uint32_t i = 0; i < b->n_pages; i++) place[i + 1] += place[i];
    struct loose_cell *sorted = ip_alloc(b->n_cells + 1, sizeof *sorted);
    for (uint64_t i = 0; i < b->n_cells; i++) sorted[place[rank[b->cells[i].page]]++] = b->cells[i];
    free(b->cells);
    free(place);
    b->cells = sorted;
    b->cells_room = b->n_cells + 1;
}

static void coarsen(struct loose_cell *cells, uint64_t n, uint32_t rows, uint32_t parts) {
    for (uint64_t i = 0; i < n; i++) {
        cells[i].cell.row >>= rows;
        cells[i].cell.part = (uint16_t)(cells[i].cell.part >> parts);
    }
}

/* Put the loose cells in order, and make the grid coarser until there are no more than `most`. */
static void compact(struct ip_grid *g, uint64_t most) {
    struct build *b = g->own;
    uint32_t *same = ip_alloc((uint64_t)b->n_pages + 1, sizeof *same);
    for (uint32_t i = 0; i < b->n_pages; i++) same[i] = i;
    sort_by_page(b, same);
    free(same);
    sort_rows(b->cells, b->n_cells);
    b->n_cells = settle(b->cells, b->n_cells);
    while (b->most_row >= IP_GRID_MOST_ROWS || b->n_cells > most) {
        bool many_rows = b->most_row >= IP_GRID_MOST_ROWS / 4;
        if (!many_rows && b->part_bits < IP_GRID_PAGE_BITS) {
            b->part_bits++;
            coarsen(b->cells, b->n_cells, 0, 1);
        } else if (b->most_row > 0) {
            b->row_bits++;
            b->most_row >>= 1;
            coarsen(b->cells, b->n_cells, 1, 0);
        } else {
            break;
        }
        b->n_cells = settle(b->cells, b->n_cells);
    }
    b->n_settled = b->n_cells;
}

static struct open_page *open_page(struct ip_grid *g, uint32_t page) {
    struct build *b = g->own;
    if (b->open_of[page]) return &b->open[b->open_of[page] - 1];
    if (b->n_open == OPEN_PAGES) close_row(b);
    b->open[b->n_open].page = page;
    b->open_of[page] = ++b->n_open;
    return &b->open[b->n_open - 1];
}

static void touch(struct ip_grid *g, uint64_t address, uint32_t dir) {
    struct build *b = g->own;
    uint32_t page = page_of(g, address >> IP_GRID_PAGE_BITS);
    if (page == NO_PAGE) {
        g->left_out++;
        return;
    }
    struct open_page *o = open_page(g, page);
    unsigned part = (address & (PAGE - 1)) >> b->part_bits;
    o->touched |= 1ull << part;
    o->sums[part][dir]++;
}

static void begin_row(struct ip_grid *g, uint64_t row) {
    struct build *b = g->own;
    close_row(b);
    while (row >= IP_GRID_MOST_ROWS || b->n_cells >= g->most_cells || b->n_cells - b->n_settled > g->most_cells / 2) {
        uint32_t had = b->row_bits;
        uint32_t reached = row > 0xffffffffu ? 0xffffffffu : (uint32_t)row;
        if (reached > b->most_row) b->most_row = reached;
        compact(g, g->most_cells / 2);
        row >>= b->row_bits - had;
        if (b->n_cells >= g->most_cells) g->most_cells *= 2; /* one row, and still so many */
    }
    b->row = (uint32_t)row;
    if (b->row > b->most_row) b->most_row = b->row;
}

void ip_grid_add(struct ip_grid *g, const struct ip_dg_accesses *a) {
    struct build *b = g->own;
    for (uint64_t i = 0; i < a->count; i++) {
        uint32_t dir = a->dir[i];
        if (dir > IP_DG_EXEC) continue;
        uint64_t row = a->instr[i] >> b->row_bits;
        if (a->instr[i] >= g->n_instrs) g->n_instrs = a->instr[i] + 1;
        if (row != b->row) begin_row(g, row);
        uint64_t address = a->address[i], last = address + (a->size[i] ? a->size[i] - 1u : 0);
        if (last < address) last = IP_DG_NEVER;
        touch(g, address, dir);
        /* The parts that it reaches into; a size is below 256. */
        for (uint64_t next = (address >> b->part_bits) + 1; next <= last >> b->part_bits && next; next++)
            touch(g, next << b->part_bits, dir);
    }
}

/* ---- Levels -------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b, void *numbers) {
    uint64_t x = ((uint64_t *)numbers)[*(const uint32_t *)a], y = ((uint64_t *)numbers)[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

/* A level of the loose cells, which are in order. */
static void add_level(struct ip_grid *g, const struct loose_cell *cells, uint64_t n, uint32_t row_bits,
                      uint32_t part_bits) {
    struct ip_grid_level *level = &g->levels[g->n_levels++];
    level->row_bits = row_bits;
    level->part_bits = part_bits;
    level->first = ip_alloc(g->n_pages + 1, sizeof *level->first);
    level->cells = ip_alloc(n + 1, sizeof *level->cells);
    level->n_cells = n;
    for (uint64_t i = 0; i < n; i++) {
        level->cells[i] = cells[i].cell;
        level->first[cells[i].page + 1]++;
    }
    for (uint64_t i = 0; i < g->n_pages; i++) level->first[i + 1] += level->first[i];
}

/* The loose cells, which are in order, and coarser levels above them. */
static void add_levels(struct ip_grid *g, struct loose_cell *cells, uint64_t n, uint32_t row_bits, uint32_t part_bits) {
    add_level(g, cells, n, row_bits, part_bits);
    while (n > TOP_CELLS && g->n_levels < IP_GRID_LEVELS) {
        uint32_t parts = IP_GRID_PAGE_BITS - part_bits < 2 ? IP_GRID_PAGE_BITS - part_bits : 2;
        if (row_bits >= 62) break;
        coarsen(cells, n, 2, parts);
        row_bits += 2;
        part_bits += parts;
        n = settle(cells, n);
        add_level(g, cells, n, row_bits, part_bits);
    }
}

static void build_free(struct ip_grid *g) {
    struct build *b = g->own;
    if (!b) return;
    free(b->table);
    free(b->numbers);
    free(b->open_of);
    free(b->open);
    free(b->cells);
    free(b);
    g->own = NULL;
}

void ip_grid_finish(struct ip_grid *g) {
    struct build *b = g->own;
    close_row(b);
    compact(g, g->most_cells);
    uint32_t *order = ip_alloc((uint64_t)b->n_pages + 1, sizeof *order);
    uint32_t *rank = ip_alloc((uint64_t)b->n_pages + 1, sizeof *rank);
    for (uint32_t i = 0; i < b->n_pages; i++) order[i] = i;
    qsort_r(order, b->n_pages, sizeof *order, by_number, b->numbers);
    g->n_pages = b->n_pages;
    g->pages = ip_alloc(g->n_pages + 1, sizeof *g->pages);
    for (uint32_t i = 0; i < b->n_pages; i++) {
        rank[order[i]] = i;
        g->pages[i] = b->numbers[order[i]];
    }
    sort_by_page(b, rank);
    for (uint64_t i = 0; i < b->n_cells; i++) b->cells[i].page = rank[b->cells[i].page];
    free(order);
    free(rank);
    add_levels(g, b->cells, b->n_cells, b->row_bits, b->part_bits);
    build_free(g);
}

struct ip_grid *ip_grid_marked(const struct ip_grid *of, const uint8_t *marks, int keeps_axes) {
    struct ip_grid *g = ip_alloc(1, sizeof *g);
    const struct ip_grid_level *level = &of->levels[0];
    uint64_t n = 0, n_cells = of->n_levels ? level->n_cells : 0;
    uint8_t *now = ip_alloc(n_cells + 1, 1); /* others go on marking */
    memcpy(now, marks, n_cells);
    for (uint64_t i = 0; i < n_cells; i++) n += now[i] != 0;
    struct loose_cell *cells = ip_alloc(n + 1, sizeof *cells);
    n = 0;
    g->pages = ip_alloc(of->n_pages + 1, sizeof *g->pages);
    for (uint64_t page = 0; page < of->n_pages; page++) {
        bool is_there = keeps_axes;
        for (uint64_t i = n_cells ? level->first[page] : 0; n_cells && i < level->first[page + 1]; i++) {
            if (!now[i]) continue;
            struct loose_cell *cell = &cells[n++];
            *cell = (struct loose_cell){(uint32_t)g->n_pages, level->cells[i]};
            for (int k = 0; k < 3; k++) cell->cell.sums[k] = now[i] >> k & 1;
            is_there = true;
        }
        if (is_there) g->pages[g->n_pages++] = of->pages[page];
    }
    if (keeps_axes) g->n_instrs = of->n_instrs;
    if (n_cells) add_levels(g, cells, n, level->row_bits, level->part_bits);
    free(cells);
    free(now);
    return g;
}

struct ip_grid *ip_grid_so_far(const struct ip_grid *g, const struct ip_grid *base, uint64_t most_cells) {
    struct ip_grid *copy = ip_grid_new(most_cells);
    const struct build *from = g->own;
    struct build *b = copy->own;
    /* In this order they have the numbers that they have in `g`. */
    for (uint32_t i = 0; i < from->n_pages; i++) page_of(copy, from->numbers[i]);
    for (uint64_t i = 0; i < base->n_pages; i++) page_of(copy, base->pages[i]);
    copy->n_instrs = base->n_instrs > g->n_instrs ? base->n_instrs : g->n_instrs;
    copy->left_out = g->left_out;
    b->row_bits = from->row_bits;
    b->part_bits = from->part_bits;
    b->most_row = from->most_row;
    b->cells_room = b->n_cells = from->n_cells;
    b->cells = ip_alloc(b->n_cells + 1, sizeof *b->cells);
    if (b->n_cells) memcpy(b->cells, from->cells, b->n_cells * sizeof *b->cells);
    ip_grid_finish(copy);
    return copy;
}

struct ip_grid *ip_grid_new(uint64_t most_cells) {
    struct ip_grid *g = ip_alloc(1, sizeof *g);
    struct build *b = g->own = ip_alloc(1, sizeof *b);
    g->most_cells = most_cells ? most_cells : IP_GRID_CELLS;
    b->table_cap = 1024;
    b->table = ip_alloc(b->table_cap, sizeof *b->table);
    for (uint64_t i = 0; i < b->table_cap; i++) b->table[i].page = NO_PAGE;
    b->open = ip_alloc(OPEN_PAGES, sizeof *b->open);
    b->part_bits = IP_GRID_LINE_BITS;
    b->last_page = NO_PAGE;
    return g;
}

void ip_grid_free(struct ip_grid *g) {
    build_free(g);
    for (uint32_t i = 0; i < g->n_levels; i++) {
        free(g->levels[i].first);
        free(g->levels[i].cells);
    }
    free(g->pages);
    free(g);
}

int ip_grid_adopt_pages(struct ip_grid *g, const uint64_t *pages, uint64_t n_pages, uint64_t n_instrs) {
    for (uint64_t i = 0; i < n_pages; i++)
        if (pages[i] >> (64 - IP_GRID_PAGE_BITS) || (i && pages[i] <= pages[i - 1])) return 0;
    build_free(g);
    g->pages = ip_alloc(n_pages + 1, sizeof *g->pages);
    if (n_pages) memcpy(g->pages, pages, n_pages * sizeof *pages);
    g->n_pages = n_pages;
    g->n_instrs = n_instrs;
    return 1;
}

int ip_grid_adopt_level(struct ip_grid *g, uint32_t row_bits, uint32_t part_bits, const uint64_t *first,
                        const struct ip_grid_cell *cells, uint64_t n_cells) {
    if (g->n_levels == IP_GRID_LEVELS || row_bits > 63 || part_bits > IP_GRID_PAGE_BITS) return 0;
    if (first[0] != 0 || first[g->n_pages] != n_cells) return 0;
    for (uint64_t i = 0; i < g->n_pages; i++)
        if (first[i] > first[i + 1]) return 0;
    struct ip_grid_level *level = &g->levels[g->n_levels++];
    level->row_bits = row_bits;
    level->part_bits = part_bits;
    level->first = ip_alloc(g->n_pages + 1, sizeof *first);
    memcpy(level->first, first, (g->n_pages + 1) * sizeof *first);
    level->cells = ip_alloc(n_cells + 1, sizeof *cells);
    if (n_cells) memcpy(level->cells, cells, n_cells * sizeof *cells);
    level->n_cells = n_cells;
    return 1;
}

/* ---- Drawing ------------------------------------------------------------------------------------- */

/* The place of a page among those touched; n_pages: behind all. */
static uint64_t rank_of(const struct ip_grid *g, uint64_t number) {
    uint64_t low = 0, high = g->n_pages;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (g->pages[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t ip_grid_column(const struct ip_grid *g, uint64_t address) {
    uint64_t number = address >> IP_GRID_PAGE_BITS, rank = rank_of(g, number);
    uint64_t within = rank < g->n_pages && g->pages[rank] == number ? address & (PAGE - 1) : 0;
    return (rank << IP_GRID_PAGE_BITS) + within;
}

struct scale { /* of a view: pixels for columns and for instructions */
    double across, down;
};

static struct scale scale_of(const struct ip_grid_view *v) {
    return (struct scale){(double)v->width / (double)(v->right - v->left),
                          (double)v->height / (double)(v->bottom - v->top)};
}

static uint32_t pixel(uint64_t at, double scale, uint32_t most) {
    double p = (double)at * scale;
    return p >= most ? most - 1 : (uint32_t)p;
}

/* Set bits in the pixels of columns [left, right] and instructions [top, bottom], all inside the view. */
static void fill(const struct ip_grid_view *v, struct scale s, uint64_t left, uint64_t right, uint64_t top,
                 uint64_t bottom, uint8_t bits, uint8_t *out) {
    uint32_t x0 = pixel(left - v->left, s.across, v->width), x1 = pixel(right - v->left, s.across, v->width);
    uint32_t y0 = pixel(top - v->top, s.down, v->height), y1 = pixel(bottom - v->top, s.down, v->height);
    for (uint32_t y = y0; y <= y1; y++)
        for (uint32_t x = x0; x <= x1; x++) out[(uint64_t)y * v->width + x] |= bits;
}

static bool is_empty(const struct ip_grid_view *v) {
    return v->right <= v->left || v->bottom <= v->top || !v->width || !v->height;
}

void ip_grid_draw_level(const struct ip_grid *g, uint32_t number, const struct ip_grid_view *v, uint8_t *out) {
    if (is_empty(v) || number >= g->n_levels) return;
    const struct ip_grid_level *level = &g->levels[number];
    struct scale s = scale_of(v);
    uint64_t page = v->left >> IP_GRID_PAGE_BITS, end = ((v->right - 1) >> IP_GRID_PAGE_BITS) + 1;
    if (end > g->n_pages) end = g->n_pages;
    uint64_t high = 1ull << level->row_bits, wide = 1ull << level->part_bits;
    /* What is less than a pixel is drawn where it begins. */
    bool is_low = (double)high * s.down <= 1, is_narrow = (double)wide * s.across <= 1;
    for (; page < end; page++) {
        uint64_t i = level->first[page], stop = level->first[page + 1], low = i, most = stop;
        uint64_t first_row = v->top >> level->row_bits;
        while (low < most) {
            uint64_t middle = low + (most - low) / 2;
            if (level->cells[middle].row < first_row)
                low = middle + 1;
            else
                most = middle;
        }
        for (i = low; i < stop; i++) {
            const struct ip_grid_cell *c = &level->cells[i];
            uint64_t top = (uint64_t)c->row << level->row_bits, bottom = is_low ? top : top + high - 1;
            uint64_t left = (page << IP_GRID_PAGE_BITS) + ((uint64_t)c->part << level->part_bits);
            uint64_t right = is_narrow ? left : left + wide - 1;
            if (top >= v->bottom) break;
            if (left >= v->right || right < v->left || bottom < v->top) continue;
            if (top < v->top) top = v->top;
            if (left < v->left) left = v->left;
            if (bottom >= v->bottom) bottom = v->bottom - 1;
            if (right >= v->right) right = v->right - 1;
            uint8_t bits = (uint8_t)((c->sums[0] != 0) | (c->sums[1] != 0) << 1 | (c->sums[2] != 0) << 2);
            fill(v, s, left, right, top, bottom, bits, out);
        }
    }
}

void ip_grid_rows(const struct ip_grid *g, const struct ip_grid_view *v, uint8_t *rows, uint64_t n) {
    if (is_empty(v) || !g->n_levels) return;
    const struct ip_grid_level *level = &g->levels[0];
    uint64_t page = v->left >> IP_GRID_PAGE_BITS, end = ((v->right - 1) >> IP_GRID_PAGE_BITS) + 1;
    for (; page < end && page < g->n_pages; page++)
        for (uint64_t i = level->first[page]; i < level->first[page + 1]; i++)
            if (level->cells[i].row < n) rows[level->cells[i].row] = 1;
}

struct pages { /* the page asked for last */
    const struct ip_grid *g;
    uint64_t number, column;
    bool is_there, known;
};

/* The column of an address whose page was touched. */
static bool column_in(struct pages *p, uint64_t address, uint64_t *column) {
    uint64_t number = address >> IP_GRID_PAGE_BITS;
    if (!p->known || p->number != number) {
        uint64_t rank = rank_of(p->g, number);
        *p = (struct pages){p->g, number, rank << IP_GRID_PAGE_BITS,
                            rank < p->g->n_pages && p->g->pages[rank] == number, true};
    }
    *column = p->column + (address & (PAGE - 1));
    return p->is_there;
}

struct bounds { /* the addresses between which a view's columns lie */
    uint64_t first, last;
};

static struct bounds bounds_of(const struct ip_grid *g, const struct ip_grid_view *v) {
    uint64_t left = v->left >> IP_GRID_PAGE_BITS, right = (v->right - 1) >> IP_GRID_PAGE_BITS;
    if (left >= g->n_pages) return (struct bounds){1, 0};
    if (right >= g->n_pages) right = g->n_pages - 1;
    uint64_t first = g->pages[left] << IP_GRID_PAGE_BITS;
    /* An access that begins up to 255 bytes before may reach into the first page. */
    return (struct bounds){first < 255 ? 0 : first - 255, g->pages[right] << IP_GRID_PAGE_BITS | (PAGE - 1)};
}

/* The columns of an access that lie in a view; it may cross into a page elsewhere, so that there are two ranges. */
static int columns_of(struct pages *p, const struct ip_dg_accesses *a, uint64_t i, const struct ip_grid_view *v,
                      uint64_t range[2][2]) {
    uint64_t first = a->address[i], last = first + (a->size[i] ? a->size[i] - 1u : 0);
    int n = 0;
    if (last < first) last = IP_DG_NEVER;
    for (uint64_t part = first;; part = (part | (PAGE - 1)) + 1) {
        uint64_t end = last < (part | (PAGE - 1)) ? last : part | (PAGE - 1), left;
        if (column_in(p, part, &left)) {
            uint64_t right = left + (end - part);
            if (left < v->right && right >= v->left) {
                range[n][0] = left < v->left ? v->left : left;
                range[n++][1] = right >= v->right ? v->right - 1 : right;
            }
        }
        if (end == last) return n;
    }
}

void ip_grid_draw(const struct ip_grid *g, const struct ip_dg_accesses *a, const struct ip_grid_view *v, uint8_t *out) {
    if (is_empty(v)) return;
    struct scale s = scale_of(v);
    struct pages pages = {.g = g};
    struct bounds bounds = bounds_of(g, v);
    for (uint64_t i = 0; i < a->count; i++) {
        if (a->address[i] < bounds.first || a->address[i] > bounds.last) continue;
        uint64_t instr = a->instr[i], range[2][2];
        if (instr < v->top || instr >= v->bottom || a->dir[i] > IP_DG_EXEC) continue;
        int n = columns_of(&pages, a, i, v, range);
        for (int k = 0; k < n; k++) fill(v, s, range[k][0], range[k][1], instr, instr, (uint8_t)(1 << a->dir[i]), out);
    }
}

static uint64_t apart(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

void ip_grid_find(const struct ip_grid *g, const struct ip_dg_accesses *a, const struct ip_grid_view *v,
                  struct ip_grid_found *found) {
    if (is_empty(v)) return;
    struct pages pages = {.g = g};
    struct bounds bounds = bounds_of(g, v);
    uint64_t middle = v->left + (v->right - v->left) / 2, centre = v->top + (v->bottom - v->top) / 2;
    for (uint64_t i = 0; i < a->count; i++) {
        if (a->address[i] < bounds.first || a->address[i] > bounds.last) continue;
        uint64_t instr = a->instr[i], range[2][2];
        if (instr < v->top || instr >= v->bottom || a->dir[i] > IP_DG_EXEC) continue;
        if (!columns_of(&pages, a, i, v, range)) continue;
        found->sums[a->dir[i]]++;
        uint64_t distance = apart(range[0][0], middle) + apart(instr, centre);
        if (found->any && distance >= found->distance) continue;
        *found = (struct ip_grid_found){{found->sums[0], found->sums[1], found->sums[2]},
                                        distance,
                                        1,
                                        instr,
                                        a->address[i],
                                        a->ip[i],
                                        a->context[i],
                                        a->size[i],
                                        a->dir[i]};
    }
}

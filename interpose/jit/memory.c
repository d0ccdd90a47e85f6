/* Small tables in memory that the program's process and the supervisor share: no pointer of a libc's leads there. */
#include "jit/memory.h"

#include <string.h>

#define SMALLEST 16u

static struct tt_memory *memory_of(struct transtab *t) { return (struct tt_memory *)(void *)t; }
_Static_assert(offsetof(struct tt_memory, table) == 0, "memory_of");

/* The power of two that n bytes take a place of. */
static uint32_t class_of(size_t bytes) {
    if (bytes <= SMALLEST) return 4;
    return 64 - (uint32_t)__builtin_clzll(bytes - 1);
}

void *tt_alloc(struct transtab *t, size_t n, size_t size) {
    uint32_t class = n && n < TT_HEAP && size < TT_HEAP ? class_of(n * size) : TT_CLASSES;
    void **old = class < TT_CLASSES ? t->heap_free[class] : NULL;
    if (old) {
        t->heap_free[class] = *old;
        return memset(old, 0, n * size);
    }
    if (class >= TT_CLASSES || (1u << class) > TT_HEAP - t->heap_used) tt_no_room();
    uint8_t *fresh = memory_of(t)->heap + t->heap_used;
    t->heap_used += 1u << class;
    return fresh;
}

void tt_free(struct transtab *t, void *table, size_t bytes) {
    if (!table) return;
    void **first = &t->heap_free[class_of(bytes)];
    memcpy(table, first, sizeof *first);
    *first = table;
}

/* Beside the tables that double: lists of a page's blocks, and bindings, which come without a block. */
#define OTHERS (4u << 20)

static size_t doubled(size_t n, size_t size) { return (size_t)1 << class_of(2 * n * size); }

bool tt_heap_has_room(const struct transtab *t) {
    size_t most = OTHERS + doubled(t->wait_size, sizeof *t->wait) + doubled(t->shapes_size, sizeof *t->shapes);
    if (t->pages_cap < PAGES_MOST) most += doubled(t->pages_cap, sizeof *t->pages);
    return t->heap_used + most <= TT_HEAP;
}

/* To the lower end of the heap: places of one size are no use for tables of another. */
void tt_renew_heap(struct transtab *t) {
    struct {
        uint8_t *at;
        size_t bytes;
    } left[] = {{(uint8_t *)t->bind, t->bind_cap * sizeof *t->bind},
                {(uint8_t *)t->breaks, t->breaks_cap * sizeof *t->breaks},
                {(uint8_t *)t->pages, t->pages_cap * sizeof *t->pages},
                {(uint8_t *)t->wait, t->wait_size * sizeof *t->wait}};
    enum { N = sizeof left / sizeof *left };
    uint8_t *heap = memory_of(t)->heap, *to = heap, *from = heap;
    for (;;) {
        int next = -1;
        for (int i = 0; i < N; i++)
            if (left[i].at >= from && (next < 0 || left[i].at < left[next].at)) next = i;
        if (next < 0) break;
        from = left[next].at + left[next].bytes;
        memmove(to, left[next].at, left[next].bytes);
        left[next].at = to;
        to += (size_t)1 << class_of(left[next].bytes);
    }
    memset(to, 0, (size_t)(heap + t->heap_used - to)); /* as tt_alloc expects it */
    memset(t->heap_free, 0, sizeof t->heap_free);
    t->heap_used = (uint32_t)(to - heap);
    t->bind = (void *)left[0].at;
    t->breaks = (void *)left[1].at;
    t->pages = (void *)left[2].at;
    t->wait = (void *)left[3].at;
}

void tt_find_tables(struct transtab *t) {
    struct tt_memory *m = memory_of(t);
    t->xrec_of = m->xrec_of;
    t->xrec = m->xrec;
    t->brec = m->brec;
    t->block_pages = m->block_pages;
    t->copies = (struct code_copies){m->copies, t->copies.bytes, CODE_COPIES, 4096};
    t->copies_here = (struct code_copies){m->copies_here, m->copy_bytes_here, CODE_COPIES_HERE, CODE_UNIT_HERE};
    for (int i = 0; i < 3; i++) {
        t->ub[i] = &m->ub[i];
        t->ub[i]->insn = m->insn;
    }
    t->em = &m->emitted;
    t->em->work = &m->work;
    m->keeping.note = m->note;
    m->keeping.waits = m->waits;
    m->keeping.notes.piece = m->piece;
}

void tt_begin_tables(struct transtab *t) {
    tt_find_tables(t);
    t->n_xrec = 1;
    tt_init_pages(t);
    tt_init_waiting(t);
    t->bind_cap = 1024;
    t->bind = tt_alloc(t, t->bind_cap, sizeof *t->bind);
}

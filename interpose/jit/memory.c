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

void tt_find_tables(struct transtab *t) {
    struct tt_memory *m = memory_of(t);
    t->xrec_of = m->xrec_of;
    t->xrec = m->xrec;
    t->brec = m->brec;
    t->block_pages = m->block_pages;
    t->copies = m->copies;
    t->copy_bytes = m->copy_bytes;
    for (int i = 0; i < 3; i++) {
        t->ub[i] = &m->ub[i];
        t->ub[i]->insn = m->insn;
    }
    t->em = &m->emitted;
    t->em->work = &m->work;
    m->keeping.note = m->note;
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

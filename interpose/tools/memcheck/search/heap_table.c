/* See heap_table.h. */
#include "tools/memcheck/search/heap_table.h"

#include "abi/heap_abi.h"

size_t ip_heap_pick(const void *table, size_t n, uint32_t states, uint64_t lo, uint64_t hi, uint32_t *out, size_t max) {
    const struct ip_heap_block *blocks = table;
    size_t found = 0;
    for (size_t i = 0; i < n && found < max; i++) {
        const struct ip_heap_block *b = &blocks[i];
        if (states >> b->state & 1 && b->addr <= hi && b->addr + b->size >= lo) out[found++] = (uint32_t)i;
    }
    return found;
}

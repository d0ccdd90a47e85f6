/* A radix sort, byte by byte from the lowest: see keysort.h.  Keys are addresses for the most part, and bytes that all
 * of them have in common are passed over. */
#include "jit/keysort.h"

#include <string.h>

/* A few are put in place one by one. */
static void insert_each(struct ip_keyed *items, uint64_t n) {
    for (uint64_t i = 1; i < n; i++) {
        struct ip_keyed one = items[i];
        uint64_t at = i;
        for (; at && items[at - 1].key > one.key; at--) items[at] = items[at - 1];
        items[at] = one;
    }
}

void ip_sort_keyed(struct ip_keyed *items, uint64_t n, struct ip_keyed *room) {
    if (n < 32) {
        insert_each(items, n);
        return;
    }
    uint64_t counts[8][256] = {0}, differing = 0;
    for (uint64_t i = 0; i < n; i++) {
        differing |= items[i].key ^ items[0].key;
        for (int byte = 0; byte < 8; byte++) counts[byte][items[i].key >> 8 * byte & 0xff]++;
    }
    struct ip_keyed *from = items, *to = room;
    for (int byte = 0; byte < 8; byte++) {
        if (!(differing >> 8 * byte & 0xff)) continue;
        uint64_t sum = 0;
        for (int value = 0; value < 256; value++) {
            uint64_t count = counts[byte][value];
            counts[byte][value] = sum;
            sum += count;
        }
        for (uint64_t i = 0; i < n; i++) to[counts[byte][from[i].key >> 8 * byte & 0xff]++] = from[i];
        struct ip_keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, n * sizeof *items);
}

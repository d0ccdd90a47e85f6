/* Sorting by numbers, without a call for each comparison. */
#ifndef INTERPOSE_KEYSORT_H
#define INTERPOSE_KEYSORT_H

#include <stdint.h>

struct ip_keyed {
    uint64_t key, item;
};

/* Sort n items by key; those with the same key stay in the order that they had.  room: n more. */
void ip_sort_keyed(struct ip_keyed *items, uint64_t n, struct ip_keyed *room);

#endif

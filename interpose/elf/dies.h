/* A quick look at all entries of .debug_info, for those that an address may lead to: variables that have one, and
 * functions that have code.  The entries themselves are read in Python (dies.py).  cffi parses this file. */
#ifndef INTERPOSE_DIES_H
#define INTERPOSE_DIES_H

#include <stdint.h>

enum {
    IP_DIE_VARIABLE = 1, /* low is its link-time address */
    IP_DIE_INDEXED = 2,  /* a variable: low is the number of its address in .debug_addr */
    IP_DIE_FUNCTION = 4, /* low and high are its code; both 0: its entry says more */
    IP_DIE_LOCAL = 8,    /* with one of the two first: a static variable of a function */
};

struct ip_die {
    uint64_t offset, unit; /* of the entry and of its unit's header, in .debug_info */
    uint64_t low, high;
    uint64_t what;
};

struct ip_dies {
    struct ip_die *rows;
    uint64_t n, room;
};

/* The entries of the kinds asked for (IP_DIE_VARIABLE | IP_DIE_FUNCTION), of the units that begin in [from, to); there
 * is a unit's header at from.  0, or -1: no memory.  Damaged units give the entries before the damage. */
int ip_dies_scan(const uint8_t *info, uint64_t info_size, const uint8_t *abbrev, uint64_t abbrev_size, uint64_t from,
                 uint64_t to, uint32_t what, struct ip_dies *out);
void ip_dies_free(struct ip_dies *dies);

#endif

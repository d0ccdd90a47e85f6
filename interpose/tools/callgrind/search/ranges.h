/* Which function the code of an object belongs to, for the translator. */
#ifndef INTERPOSE_CALLGRIND_RANGES_H
#define INTERPOSE_CALLGRIND_RANGES_H

#include <stdint.h>

/* The functions of an object, at link-time addresses and ascending, whose numbers are function's. */
struct cg_functions {
    uint64_t *starts, *ends;
    uint32_t *numbers;
    uint64_t n, room;
    uint32_t unknown; /* the number of code of the object that is in none */
};

struct ip_symbols;
/* Those that are the pieces of an object's symbols, with the numbers from base on, and room for more.  NULL: no
 * memory. */
struct cg_functions *cg_functions_new(const struct ip_symbols *pieces, uint32_t base, uint32_t unknown, uint32_t more);
/* One more in [start, end), unless others have a part of that. */
void cg_functions_add(struct cg_functions *f, uint64_t start, uint64_t end, uint32_t number);
void cg_functions_free(struct cg_functions *f);

/* Tell the translator whose code is in [start, end), where link-time addresses have bias added; functions that are not
 * wholly in there are left out.  0, or -1: no memory. */
int cg_place_functions(const struct cg_functions *f, uint64_t bias, uint64_t start, uint64_t end);

#endif

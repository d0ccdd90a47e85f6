/* Which function the code of an object belongs to, for the translator. */
#ifndef INTERPOSE_CALLGRIND_RANGES_H
#define INTERPOSE_CALLGRIND_RANGES_H

#include <stdint.h>

/* The functions of an object, at link-time addresses and ascending, whose numbers are function's. */
struct cg_functions {
    const uint64_t *starts, *ends;
    const uint32_t *numbers;
    uint64_t n;
    uint32_t unknown; /* the number of code of the object that is in none */
};

/* Tell the translator whose code is in [start, end), where link-time addresses have bias added; functions that are not
 * wholly in there are left out.  0, or -1: no memory. */
int cg_place_functions(const struct cg_functions *f, uint64_t bias, uint64_t start, uint64_t end);

#endif

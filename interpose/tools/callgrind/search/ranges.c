/* Functions of an object where it is mapped: see ranges.h. */
#include "ranges.h"

#include <stdlib.h>
#include <string.h>

#include "elf/symtab.h"
#include "jit/native_api.h"

struct cg_functions *cg_functions_new(const struct ip_symbols *pieces, uint32_t base, uint32_t unknown, uint32_t more) {
    uint64_t n = pieces->count, room = n + more + 1;
    struct cg_functions *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    *f = (struct cg_functions){.starts = malloc(room * sizeof *f->starts),
                               .ends = malloc(room * sizeof *f->ends),
                               .numbers = malloc(room * sizeof *f->numbers),
                               .n = n,
                               .room = n + more,
                               .unknown = unknown};
    if (!f->starts || !f->ends || !f->numbers) {
        cg_functions_free(f);
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++) {
        f->starts[i] = pieces->address[i];
        f->ends[i] = pieces->address[i] + pieces->size[i];
        f->numbers[i] = base + (uint32_t)i;
    }
    return f;
}

void cg_functions_add(struct cg_functions *f, uint64_t start, uint64_t end, uint32_t number) {
    uint64_t place = 0, after;
    while (place < f->n && f->starts[place] <= start) place++;
    if (f->n == f->room || (place && f->ends[place - 1] > start) || (place < f->n && f->starts[place] < end)) return;
    after = f->n++ - place;
    memmove(f->starts + place + 1, f->starts + place, after * sizeof *f->starts);
    memmove(f->ends + place + 1, f->ends + place, after * sizeof *f->ends);
    memmove(f->numbers + place + 1, f->numbers + place, after * sizeof *f->numbers);
    f->starts[place] = start;
    f->ends[place] = end;
    f->numbers[place] = number;
}

void cg_functions_free(struct cg_functions *f) {
    free(f->starts);
    free(f->ends);
    free(f->numbers);
    free(f);
}

int cg_place_functions(const struct cg_functions *f, uint64_t bias, uint64_t start, uint64_t end) {
    /* Each function with what lies before it, and the rest. */
    uint64_t n = 0, room = 2 * f->n + 1, at = start;
    uint64_t *lows = malloc(2 * room * sizeof *lows), *highs = lows + room;
    uint32_t *numbers = malloc(room * sizeof *numbers);
    int result = lows && numbers ? 0 : -1;
    for (uint64_t i = 0; !result && i < f->n; i++) {
        uint64_t low = f->starts[i] + bias, high = f->ends[i] + bias;
        if (low < at || high > end || high < low) continue;
        if (low > at) {
            lows[n] = at;
            highs[n] = low;
            numbers[n++] = f->unknown;
        }
        lows[n] = low;
        highs[n] = at = high;
        numbers[n++] = f->numbers[i];
    }
    if (!result && at < end) {
        lows[n] = at;
        highs[n] = end;
        numbers[n++] = f->unknown;
    }
    if (!result) result = ip_trace_functions_add(n, lows, highs, numbers);
    free(lows);
    free(numbers);
    return result;
}

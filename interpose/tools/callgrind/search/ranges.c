/* Functions of an object where it is mapped: see ranges.h. */
#include "ranges.h"

#include <stdlib.h>

#include "jit/native_api.h"

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

/* What no program of programs.py does often, one at a time: see corners.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does its work `n` times; the number that a case is given is what takes Valgrind about a second. */
struct corner {
    const char *name;
    long n;
    void (*work)(long n);
};

extern const struct corner memory_corners[], process_corners[], call_corners[], control_corners[];
extern const struct corner compute_corners[], vector_corners[], bit_corners[], error_corners[];

static inline void must(int holds) {
    if (!holds) {
        perror("corner");
        exit(9);
    }
}

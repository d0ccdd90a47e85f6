/* corners NAME [TIMES]; without a name, all names. */
#include "corners.h"

static const struct corner *const all[] = {memory_corners,  process_corners, call_corners, control_corners,
                                           compute_corners, vector_corners,  bit_corners,  error_corners};

int main(int argc, char **argv) {
    for (size_t group = 0; group < sizeof all / sizeof *all; group++)
        for (const struct corner *one = all[group]; one->name; one++) {
            if (argc < 2)
                puts(one->name);
            else if (!strcmp(one->name, argv[1])) {
                one->work(argc > 2 ? atol(argv[2]) : one->n);
                return 0;
            }
        }
    return argc > 1;
}

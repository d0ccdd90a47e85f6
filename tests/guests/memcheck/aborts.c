/* Death by abort(): the C library's frames, and blocks that are still in use. */
#include <stdlib.h>

static void *kept;

static void give_up(void) { abort(); }

int main(void) {
    kept = malloc(11);
    give_up();
    return 0;
}

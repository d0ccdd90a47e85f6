/* CREATE_BLOCK describes memory of the program's own, DISCARD forgets it. */
#include <valgrind/memcheck.h>

static char pool[256];
static volatile char sink;

int main(void) {
    int id = (int)VALGRIND_CREATE_BLOCK(pool + 64, 32, "small buffer");
    VALGRIND_MAKE_MEM_NOACCESS(pool + 64, 32);
    sink = pool[70];
    int known = (int)VALGRIND_DISCARD(id);
    sink = pool[71];
    return known;
}

/* A pointer with a tag in its uppermost bit is called. */
#include <stdint.h>

static volatile int calls;

__attribute__((noinline)) static void target(void) { calls++; }

static void (*volatile handler)(void) = target;

static void dispatch(void) { handler(); }

int main(void) {
    dispatch();
    dispatch();
    handler = (void (*)(void))((uint64_t)target & 0xffff000000000000 | 1ull << 63);
    dispatch();
    return 0;
}

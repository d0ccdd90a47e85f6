/* Python's allocators, of which one call fails: the Nth from when it was armed, or that and all after it. */
#include <stddef.h>

/* Python's C API manual, "Customize Memory Allocators". */
typedef struct {
    void *ctx;
    void *(*malloc)(void *ctx, size_t size);
    void *(*calloc)(void *ctx, size_t count, size_t size);
    void *(*realloc)(void *ctx, void *old, size_t size);
    void (*free)(void *ctx, void *old);
} allocator;
enum { DOMAINS = 3 };
void PyMem_GetAllocator(int domain, allocator *a);
void PyMem_SetAllocator(int domain, allocator *a);

static allocator before[DOMAINS];
static long left = -1; /* until the first failure; -1: never */
static int sticky;

static int fails(void) {
    if (left < 0) return 0;
    if (left > 1) {
        left--;
        return 0;
    }
    if (!sticky) left = -1;
    return 1;
}

static void *my_malloc(void *ctx, size_t size) {
    const allocator *a = ctx;
    return fails() ? NULL : a->malloc(a->ctx, size);
}
static void *my_calloc(void *ctx, size_t count, size_t size) {
    const allocator *a = ctx;
    return fails() ? NULL : a->calloc(a->ctx, count, size);
}
static void *my_realloc(void *ctx, void *old, size_t size) {
    const allocator *a = ctx;
    return fails() ? NULL : a->realloc(a->ctx, old, size);
}
static void my_free(void *ctx, void *old) {
    const allocator *a = ctx;
    a->free(a->ctx, old);
}

void install(void) {
    for (int domain = 0; domain < DOMAINS; domain++) {
        allocator mine = {&before[domain], my_malloc, my_calloc, my_realloc, my_free};
        PyMem_GetAllocator(domain, &before[domain]);
        PyMem_SetAllocator(domain, &mine);
    }
}

void arm(long nth, int all_after) {
    sticky = all_after;
    left = nth;
}

/* Allocations since arm(nth), if none has failed. */
long count(long nth) { return nth - left; }

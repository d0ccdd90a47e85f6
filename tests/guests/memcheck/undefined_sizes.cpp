/* Undefined arguments of the malloc family, each reported once, in the function that it was passed to. */
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <valgrind/memcheck.h>

static size_t undefined(size_t value) {
    VALGRIND_MAKE_MEM_UNDEFINED(&value, sizeof value);
    return value;
}
static void *undefined(void *p) { return (void *)undefined((size_t)p); }

int main() {
    void *p = malloc(undefined(10));
    free(p);
    free(undefined(malloc(10)));
    free(calloc(undefined(10), 3));
    free(calloc(10, undefined(3)));
    p = realloc(malloc(10), undefined(20));
    p = realloc(undefined(p), 30);
    free(p);
    free(realloc(0, undefined(10)));
    free(memalign(undefined(32), 10));
    free(memalign(32, undefined(10)));
    free(aligned_alloc(undefined(32), 32));
    ::operator delete(::operator new(undefined(10)), undefined(10));
    ::operator delete[](undefined(::operator new[](undefined(10))));
    ::operator delete(::operator new(undefined(10), std::nothrow));
    ::operator delete(::operator new(undefined(32), std::align_val_t(undefined(32))), std::align_val_t(32));
    ::operator delete(::operator new(32, std::align_val_t(32)), std::align_val_t(undefined(32)));
    ::operator delete[](::operator new[](32, std::align_val_t(32)), undefined(32), std::align_val_t(32));
    p = malloc(10);
    if (malloc_usable_size(undefined(p)) != 10) return 1;
    free(p);
    mallopt((int)undefined((size_t)M_PERTURB), (int)undefined((size_t)3));
    malloc_trim(undefined((size_t)0));
    struct mallinfo info = mallinfo();
    return info.uordblks == 12345 || info.arena == 12345 || info.keepcost == 12345;
}

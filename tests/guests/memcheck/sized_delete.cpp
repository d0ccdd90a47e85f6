// Deletes with a wrong size (reported since 3.22) and aligned new.
#include <new>

struct alignas(64) wide { int v[16]; };

int main() {
    void *p = ::operator new(16);
    ::operator delete(p, std::size_t{32});
    wide *w = new wide;
    w->v[0] = 1;
    volatile int n = *(volatile int *)(w + 1);
    (void)n;
    delete w;
    p = __builtin_malloc(16);
    ::operator delete(p, std::size_t{32}); // wrong in kind, too
    return 0;
}

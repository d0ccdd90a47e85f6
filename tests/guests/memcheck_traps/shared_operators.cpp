// An allocator in which each operator and its array form are one function, as in mimalloc and tcmalloc.
#include <cstddef>
#include <cstdio>
#include <new>

alignas(64) static char pool[1 << 16];
static std::size_t used;

static void *take(std::size_t size, std::size_t align) {
    used = (used + align - 1) & ~(align - 1);
    void *block = pool + used;
    used += size;
    return block;
}

extern "C" {
void *_Znwm(std::size_t n) { return take(n, 16); }
void *_Znam(std::size_t n) __attribute__((alias("_Znwm")));
void *_ZnwmRKSt9nothrow_t(std::size_t n, const void *) { return take(n, 16); }
void *_ZnamRKSt9nothrow_t(std::size_t n, const void *) __attribute__((alias("_ZnwmRKSt9nothrow_t")));
void *_ZnwmSt11align_val_t(std::size_t n, std::size_t align) { return take(n, align); }
void *_ZnamSt11align_val_t(std::size_t n, std::size_t align) __attribute__((alias("_ZnwmSt11align_val_t")));
static volatile std::size_t given_back;
void _ZdlPv(void *) { given_back = 1; }
void _ZdaPv(void *) __attribute__((alias("_ZdlPv")));
void _ZdlPvm(void *, std::size_t n) { given_back = n; }
void _ZdaPvm(void *, std::size_t n) __attribute__((alias("_ZdlPvm")));
void _ZdlPvRKSt9nothrow_t(void *, const void *) { given_back = 2; }
void _ZdaPvRKSt9nothrow_t(void *, const void *) __attribute__((alias("_ZdlPvRKSt9nothrow_t")));
void _ZdlPvSt11align_val_t(void *, std::size_t align) { given_back = align + 3; }
void _ZdaPvSt11align_val_t(void *, std::size_t align) __attribute__((alias("_ZdlPvSt11align_val_t")));
}

int main() {
    const std::align_val_t wide{64};
    ::operator delete(::operator new(5));
    ::operator delete[](::operator new[](5));
    ::operator delete(::operator new(7), std::size_t{7});
    ::operator delete[](::operator new[](7), std::size_t{7});
    ::operator delete(::operator new(9, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](9, std::nothrow), std::nothrow);
    ::operator delete(::operator new(64, wide), wide);
    ::operator delete[](::operator new[](64, wide), wide);
    // What was given back is ours: the first byte of a freed block can still be told to be one.
    char *freed = static_cast<char *>(::operator new(11));
    ::operator delete(freed);
    std::printf("%d\n", *static_cast<volatile char *>(freed));
    return 0;
}

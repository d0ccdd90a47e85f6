/* No error: the linker has made one function of delete with and without a size; what a register holds is no size. */
#include <cstdlib>
#include <new>

void *operator new(std::size_t n) { return std::malloc(n); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *, std::size_t) noexcept __attribute__((alias("_ZdlPv")));
void operator delete(void *, std::align_val_t) noexcept __attribute__((alias("_ZdlPv")));

int main(int argc, char **) {
    void (*with_rest)(void *, std::size_t) = operator delete;
    for (int i = 0; i < 10; i++) with_rest(operator new(8), 12345u + static_cast<unsigned>(argc));
    return 0;
}

// delete with another alignment or size than new had, of blocks that new did not make, and of null.
// @options: --leak-check=full
#include <malloc.h>
#include <new>
#include <stdlib.h>

using A = std::align_val_t;

int main() {
    ::operator delete(aligned_alloc(64, 64));
    ::operator delete(aligned_alloc(64, 64), std::size_t(64));
    ::operator delete(memalign(8, 64));
    ::operator delete(malloc(40), A(64));
    ::operator delete(aligned_alloc(64, 64), A(64));
    ::operator delete(malloc(40), std::size_t(30));
    ::operator delete(::operator new(40), A(8));
    ::operator delete(::operator new(40), A(16));
    ::operator delete(::operator new(40, A(8)));
    ::operator delete(::operator new(40, A(16)), A(16));
    ::operator delete(::operator new(40, A(32)), std::size_t(40));
    ::operator delete(::operator new[](40, A(32)), std::size_t(41), A(64));
    ::operator delete[](::operator new[](40, A(32)), std::size_t(41), A(64));
    ::operator delete(::operator new(40), std::size_t(40), A(24));
    ::operator delete(::operator new(40), A(24));
    free(::operator new(40, A(64)));
    void *none = nullptr;
    ::operator delete(none, A(0));
    ::operator delete(none, std::size_t(4), A(64));
    ::operator delete(none, std::size_t(4), A(48));
    ::operator delete[](none, A(3), std::nothrow);
    ::operator delete(none, std::size_t(3));
    return 0;
}

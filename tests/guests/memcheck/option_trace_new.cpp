/* --trace-malloc=yes calls operators by their symbols, delete before what is wrong with it.
 * @options: --trace-malloc=yes */
#include <new>

struct alignas(64) Wide {
    char c[64];
};

int main() {
    using std::align_val_t;
    using std::nothrow;
    delete new int;
    delete[] new int[3];
    ::operator delete(::operator new(4, nothrow), nothrow);
    ::operator delete[](::operator new[](5, nothrow), nothrow);
    ::operator delete(::operator new(6), (std::size_t)6);
    ::operator delete[](::operator new[](7), (std::size_t)7);
    delete new Wide;
    delete[] new Wide[2];
    ::operator delete(::operator new(64, align_val_t(64), nothrow), align_val_t(64), nothrow);
    ::operator delete[](::operator new[](65, align_val_t(64), nothrow), align_val_t(64), nothrow);
    ::operator delete(::operator new(66, align_val_t(64)), (std::size_t)66, align_val_t(64));
    ::operator delete[](::operator new[](67, align_val_t(64)), (std::size_t)67, align_val_t(64));
    ::operator delete(nullptr);
    int *gone = new int;
    delete gone;
    delete gone;
    return 0;
}

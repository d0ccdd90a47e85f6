// new of nothing, delete of nothing, arrays of no elements; a read of their first byte.
// @options: --leak-check=full --show-leak-kinds=all
#include <new>

char *volatile kept;

int main() {
    char *a = new char[0];
    kept = new char[0];
    volatile int sum = a[0];
    delete[] a;
    delete static_cast<int *>(nullptr);
    delete[] static_cast<int *>(nullptr);
    sum += kept[0];
    void *raw = ::operator new(0, std::nothrow);
    ::operator delete(raw);
    ::operator delete(raw);
    return 0;
}

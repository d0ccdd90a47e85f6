// Each wrong pair of malloc, new, new[] and free, delete, delete[].
#include <cstdlib>

int main() {
    char *a = new char;
    std::free(a);
    char *b = new char[10];
    std::free(b);
    void *c = std::malloc(20);
    ::operator delete(c);
    void *d = std::malloc(30);
    ::operator delete[](d);
    int *e = new int[5];
    ::operator delete(static_cast<void *>(e));
    int *f = new int;
    ::operator delete[](static_cast<void *>(f));
    return 0;
}

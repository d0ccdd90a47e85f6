// new with an alignment, freed by the wrong function, by one without alignment, too small a block.
// @options: --leak-check=full
#include <cstdlib>
#include <new>

struct alignas(64) Wide {
    char c[64];
};

int main() {
    Wide *a = new Wide;
    volatile int sum = reinterpret_cast<unsigned long>(a) % 64 ? 1 : 0;
    a->c[3] = 1;
    (&a->c[0])[64] = 1; // behind it
    delete a;
    sum += a->c[3];
    Wide *b = new Wide[2];
    std::free(b);
    Wide *c = static_cast<Wide *>(std::aligned_alloc(64, 128));
    delete c;
    new Wide;
    return 0;
}

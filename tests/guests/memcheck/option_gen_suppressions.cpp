// --gen-suppressions=all: an entry after each error, with mangled names.
// @options: --gen-suppressions=all --leak-check=full
#include <cstdlib>
#include <unistd.h>

namespace place {
struct box {
    int v;
    __attribute__((noinline)) bool full() const { return v == 3; }
};
}  // namespace place

int main() {
    place::box *b = new place::box;
    volatile bool full = b->full();
    int fds[2];
    if (pipe(fds) || write(fds[1], b, 4) != 4)
        return 1;
    delete b;
    full = b->v;
    (void)full;
    char *lost = static_cast<char *>(std::malloc(5));
    lost = nullptr;
    (void)lost;
    return 0;
}

// operator new without memory: the handler makes some, gives up, or throws.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

static int calls;
static void counting() {
    if (++calls == 3) std::set_new_handler(nullptr);
}
static void throwing() {
    calls++;
    throw std::runtime_error("from the handler");
}
struct Guard {
    int *count;
    ~Guard() { ++*count; }
};

__attribute__((noinline)) static void allocate(std::size_t n, int *destroyed) {
    Guard guard{destroyed};
    char *volatile p = new char[n];
    delete[] p;
}

int main() {
    int destroyed = 0;
    volatile std::size_t much = std::size_t(1) << 60;
    std::set_new_handler(counting);
    try {
        allocate(much, &destroyed);
    } catch (const std::bad_alloc &) {
        std::printf("bad_alloc after %d calls, %d destroyed\n", calls, destroyed);
    }
    std::set_new_handler(throwing);
    for (int i = 0; i < 3; i++) try {
            allocate(much, &destroyed);
        } catch (const std::runtime_error &e) {
            std::printf("%s, %d calls, %d destroyed\n", e.what(), calls, destroyed);
        }
    std::set_new_handler(nullptr);
    std::printf("nothrow %d\n", new (std::nothrow) char[much] == nullptr);
    struct alignas(64) Wide {
        char bytes[64];
    };
    std::set_new_handler(throwing);
    try {
        Wide *volatile w = new Wide[much / 128];
        delete[] w;
    } catch (const std::exception &e) {
        std::printf("aligned: %s\n", e.what());
    }
    allocate(100, &destroyed);
    std::printf("%d calls, %d destroyed\n", calls, destroyed);
    return 0;
}

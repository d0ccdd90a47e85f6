/* AddressSanitizer: exceptions through instrumented frames, and a leak found at the end. */
// sanitize: address
#include <cstdio>
#include <stdexcept>
#include <vector>

static std::vector<int> *lost;

static void fill(std::vector<int> &v, int n) {
    for (int i = 0; i < n; i++) {
        v.push_back(i);
        if (v.size() > 1000)
            throw std::runtime_error("enough");
    }
}

__attribute__((noinline)) static void lose(const std::vector<int> &v) {
    lost = new std::vector<int>(v);
    lost = nullptr;
}

/* No word of what was lost is left on the stack by accident. */
__attribute__((noinline)) static void wipe() {
    volatile char below[16384];
    for (unsigned i = 0; i < sizeof below; i++)
        below[i] = 0;
}

int main() {
    std::vector<int> v;
    try {
        fill(v, 5000);
    } catch (const std::exception &e) {
        std::printf("%s %zu\n", e.what(), v.size());
    }
    lose(v);
    wipe();
    return 0;
}

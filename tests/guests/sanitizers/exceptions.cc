/* AddressSanitizer: exceptions through instrumented frames; nothing to report. */
// sanitize: address
#include <cstdio>
#include <stdexcept>
#include <vector>

static void fill(std::vector<int> &v, int n) {
    for (int i = 0; i < n; i++) {
        v.push_back(i);
        if (v.size() > 1000)
            throw std::runtime_error("enough");
    }
}

int main() {
    std::vector<int> v;
    try {
        fill(v, 5000);
    } catch (const std::exception &e) {
        std::printf("%s %zu\n", e.what(), v.size());
    }
    return 0;
}

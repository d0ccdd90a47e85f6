// A block is lost because an exception skips its release.
// @options: --leak-check=full
#include <stdexcept>

namespace shop {
struct order {
    int *lines;
    explicit order(int n) : lines(new int[static_cast<unsigned>(n)]) {
        lines[0] = n;
        if (n > 3)
            throw std::length_error("too many");
    }
    ~order() { delete[] lines; }
};
}  // namespace shop

int main() {
    for (int n = 2; n < 6; n++) {
        try {
            shop::order o(n);
        } catch (const std::length_error &) {
        }
    }
    return 0;
}

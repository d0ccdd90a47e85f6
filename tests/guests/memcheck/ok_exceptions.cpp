// No error: exceptions through many frames with destructors, strings, maps and streams.
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

static int depth(int n) {
    std::vector<std::string> keep(static_cast<size_t>(n + 1), "a string that is long enough for the heap");
    if (n == 0)
        throw std::runtime_error("bottom");
    return depth(n - 1) + static_cast<int>(keep.size());
}

int main() {
    std::map<std::string, int> count;
    for (int i = 0; i < 10; i++) {
        try {
            depth(i);
        } catch (const std::exception &e) {
            count[e.what() + std::to_string(i % 3)]++;
        }
    }
    std::ostringstream out;
    for (const auto &[name, n] : count)
        out << name << '=' << n << 1.5 << ' ';
    return out.str().empty() || count.size() != 3;
}

// Names as the linker knows them.
// @options: --demangle=no --leak-check=full
#include <string>
#include <vector>

namespace space {
template <class T> struct Holder {
    T *held = new T;
    int operator()(const std::vector<T> &v) const { return v.size() ? held[1] : 0; }
};
} // namespace space

int main() {
    space::Holder<int> h;
    volatile int sum = h({1, 2});
    h.held = nullptr;
    return 0;
}

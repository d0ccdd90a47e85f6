// A constructor throws: new's memory comes back, what the constructor allocated does not.
// @options: --leak-check=full
#include <stdexcept>
#include <string>

struct Inner {
    char *held;
    explicit Inner(int n) : held(new char[n]) {
        if (n > 20)
            throw std::runtime_error("too long for the small string that fits");
    }
    ~Inner() { delete[] held; }
};

static int depth(int n) {
    Inner inner(n);
    if (n == 0)
        throw n;
    return depth(n - 1) + 1;
}

int main() {
    int caught = 0;
    try {
        new Inner(30);
    } catch (const std::runtime_error &e) {
        caught += std::string(e.what()).size() > 5;
    }
    try {
        depth(12);
    } catch (int) {
        caught++;
    }
    try {
        try {
            throw 1;
        } catch (...) {
            char *gone = new char[11];
            gone[0] = 1;
            throw;
        }
    } catch (int) {
        caught++;
    }
    return caught == 3 ? 0 : 1;
}

/* Exceptions through several frames, with destructors on the way, rethrown, and out of recursion. */
#include <stdexcept>

#define NOINLINE __attribute__((noinline, noclone))

extern "C" NOINLINE void leaf(void) { __asm__ volatile("nop; nop; nop"); }
extern "C" NOINLINE void cleanup(void) { __asm__ volatile("nop; nop"); }

struct Guard {
    ~Guard() { cleanup(); }
};

extern "C" NOINLINE void thrower(int n) {
    leaf();
    if (n) throw n;
    leaf();
}
extern "C" NOINLINE void middle(int n) {
    Guard guard;
    leaf();
    thrower(n);
    leaf();
}
extern "C" NOINLINE int catcher(int n) {
    try {
        middle(n);
    } catch (int caught) {
        leaf();
        return caught;
    }
    return 0;
}
extern "C" NOINLINE void again(int n) {
    try {
        middle(n);
    } catch (...) {
        leaf();
        throw;
    }
}
extern "C" NOINLINE void down(int n) {
    Guard guard;
    leaf();
    if (!n) throw std::runtime_error("deep");
    down(n - 1);
    leaf();
}
extern "C" NOINLINE int after(int n) {
    leaf();
    return n + 1;
}

int main() {
    int sum = 0;
    for (int i = 0; i < 10; i++) sum += catcher(i & 1);
    try {
        again(3);
    } catch (int) {
        leaf();
    }
    sum = after(sum);
    try {
        down(4);
    } catch (const std::exception &) {
        leaf();
    }
    return after(sum) == 7 ? 0 : 1;
}

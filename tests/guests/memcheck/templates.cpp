// Demangled names of templates, members, operators and lambdas, and inlined frames.
// @build: -O2
#include <cstdlib>
#include <vector>

static volatile int sink;

template <typename T, int N> struct ring {
    T *data;
    __attribute__((noinline)) explicit ring() : data(new T[N]) {}
    __attribute__((noinline)) T operator[](int i) const { return data[i]; }
    inline void show(int i) const { sink = data[i]; }
    __attribute__((noinline)) ~ring() { delete[] data; }
};

template <typename F> __attribute__((noinline)) void apply(F f) {
    f(1);
    sink = 0;
}

int main() {
    ring<int, 3> r;
    sink = r[3];
    r.show(4);
    apply([&](int k) { sink = r.data[k + 4]; });
    return 0;
}

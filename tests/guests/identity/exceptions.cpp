// Exceptions through frames of every kind: recursion, a C callback in libc, a thread, a destructor on the way.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

static int destroyed;
struct Guard {
    ~Guard() { destroyed++; }
};

static int deep(int n) {
    Guard guard;
    if (n == 0) throw std::runtime_error("bottom");
    return deep(n - 1) + 1;
}

static int compare(const void *a, const void *b) {
    if (*(const int *)a == 7 || *(const int *)b == 7) throw 7;
    return *(const int *)a - *(const int *)b;
}

int main() {
    try {
        deep(200);
    } catch (const std::exception &e) {
        std::printf("%s, %d destroyed\n", e.what(), destroyed);
    }
    int numbers[] = {9, 7, 5, 3};
    try {
        qsort(numbers, 4, sizeof *numbers, compare);
    } catch (int n) {
        std::printf("through qsort: %d\n", n);
    }
    try {
        std::string().at(5);
    } catch (const std::out_of_range &) {
        std::puts("out of range");
    }
    try {
        void *volatile p = ::operator new(size_t(1) << 62);
        std::printf("%p\n", p);
    } catch (const std::bad_alloc &) {
        std::puts("no memory");
    }
    std::thread([] {
        try {
            deep(50);
        } catch (...) {
            std::printf("in a thread, %d destroyed\n", destroyed);
        }
    }).join();
    try {
        try {
            throw std::string("once");
        } catch (...) {
            throw;
        }
    } catch (const std::string &s) {
        std::printf("twice: %s\n", s.c_str());
    }
    std::set_terminate([] {
        std::puts("terminate");
        std::fflush(stdout);
        std::_Exit(0);
    });
    throw 1;
}

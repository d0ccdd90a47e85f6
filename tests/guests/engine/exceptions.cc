/* C++ exceptions through many frames, destructors, rethrow, threads, out of a signal handler's caller. */
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static thread_local bool quiet; /* threads would print in any order */
struct Noise {
    int n;
    explicit Noise(int n) : n(n) {}
    ~Noise() { if (n % 5 == 0 && !quiet) std::printf("~%d\n", n); }
};
static int down(int n) {
    Noise noise(n);
    if (n == 0) throw std::runtime_error("bottom");
    return down(n - 1) + 1;
}
static void thread(int id, std::string *out) {
    quiet = true;
    try {
        down(10);
    } catch (const std::exception &e) {
        *out = "thread " + std::to_string(id) + " " + e.what();
    }
}
int main() {
    for (int i = 0; i < 3; i++) {
        try {
            try {
                down(20);
            } catch (...) {
                throw;
            }
        } catch (const std::runtime_error &e) {
            std::printf("caught %s\n", e.what());
        }
    }
    try {
        std::vector<int> v(3);
        v.at(7) = 1;
    } catch (const std::out_of_range &) {
        std::puts("out of range");
    }
    std::vector<std::thread> ts;
    std::vector<std::string> out(4);
    for (int i = 0; i < 4; i++) ts.emplace_back(thread, i, &out[i]);
    for (auto &t : ts) t.join();
    for (auto &s : out) std::puts(s.c_str());
    try {
        throw 42;
    } catch (int n) {
        std::printf("int %d\n", n);
    }
    return 0;
}

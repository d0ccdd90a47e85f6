#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
extern "C" {
#include "corners.h"
#include <iconv.h>
#include <locale.h>
#include <math.h>
#include <regex.h>
#include <wchar.h>
}

namespace {

struct Guard {
    int *count;
    ~Guard() { ++*count; }
};

int thrower(int depth, int *count) {
    Guard guard{count};
    if (!depth) throw std::runtime_error("deep");
    return thrower(depth - 1, count) + 1;
}

void exceptions(long n) {
    int count = 0;
    for (long i = 0; i < n; i++) try {
            thrower(20, &count);
        } catch (const std::exception &) {}
    must(count == 21 * n);
}

constexpr long size = 1 << 16;
alignas(64) double a[size], b[size], c[size];

template <typename Body> void over(long n, Body body) {
    for (long i = 0; i < n; i++) {
        body();
        asm volatile("" ::: "memory");
    }
}

__attribute__((target("avx2,fma"))) void avx2(long n) {
    for (long k = 0; k < n; k++)
        for (long i = 0; i < size; i++) c[i] = a[i] * b[i] + c[i];
}

__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))) void wide(long n) {
    for (long k = 0; k < n; k++)
        for (long i = 0; i < size; i++) c[i] = a[i] * b[i] + c[i];
}

void avx512(long n) {
    if (__builtin_cpu_supports("avx512f")) wide(n);
}

void sse(long n) {
    for (long k = 0; k < n; k++)
        for (long i = 0; i < size; i++) c[i] = a[i] * b[i] + c[i];
}

void x87(long n) {
    volatile long double sum = 0;
    for (long i = 0; i < n; i++) sum = sum * 0.5L + static_cast<long double>(i);
}

void mathematics(long n) {
    volatile double sum = 0;
    for (long i = 0; i < n; i++)
        sum = sum + sin(static_cast<double>(i)) * exp(static_cast<double>(i % 10)) +
              pow(1.5, static_cast<double>(i % 7));
}

void strings(long n) {
    static char text[100001], other[100001];
    memset(text, 'x', 100000);
    memcpy(other, text, 100001);
    long sum = 0;
    for (long i = 0; i < n; i++) {
        sum += static_cast<long>(strlen(text)) + strcmp(text, other) + (strchr(text, 'y') != nullptr);
        sum += (strrchr(text, 'y') != nullptr) + memcmp(text, other, 100000) + (memchr(text, 0, 100001) != nullptr);
        sum += (strstr(text, "xxxy") != nullptr) + strncmp(text, other, 99999);
    }
    must(sum == 100001 * n);
}

void strings_short(long n) {
    static const char *const words[] = {"alpha", "be", "gamma-delta", "", "epsilon zeta eta theta iota kappa"};
    char place[64];
    long sum = 0;
    for (long i = 0; i < n; i++) {
        const char *word = words[i % 5];
        strcpy(place, word);
        sum += static_cast<long>(strlen(place)) + strcmp(place, words[(i + 1) % 5]) + (strchr(word, 'e') != nullptr);
    }
    must(sum != 0);
}

int by_value(const void *x, const void *y) {
    int left = *static_cast<const int *>(x), right = *static_cast<const int *>(y);
    return (left > right) - (left < right);
}

void sorting(long n) {
    std::vector<int> all(static_cast<size_t>(n));
    unsigned seed = 1;
    for (int &one : all) one = static_cast<int>((seed = seed * 1664525 + 1013904223) >> 8);
    qsort(all.data(), all.size(), sizeof all[0], by_value);
}

void trees(long n) {
    std::map<std::string, long> all;
    for (long i = 0; i < n; i++) all[std::to_string(i * 7919 % 100003)] += i;
    must(!all.empty());
}

void expressions(long n) {
    regex_t expression;
    regmatch_t found[3];
    must(!regcomp(&expression, "([a-z]+)[0-9]*@([a-z]+\\.)+com", REG_EXTENDED));
    for (long i = 0; i < n; i++)
        must(!regexec(&expression, "write to somebody42@mail.example.com or not", 3, found, 0));
}

void printing(long n) {
    char line[200];
    for (long i = 0; i < n; i++)
        snprintf(line, sizeof line, "%ld %s %08lx %10.4f %c %-10d|", i, "text", i, static_cast<double>(i) / 3, 'x', 5);
}

void output(long n) {
    for (long i = 0; i < n; i++) printf("%ld %s\n", i, "a line of text");
}

void scanning(long n) {
    int number, other;
    char word[20];
    for (long i = 0; i < n; i++) must(sscanf("42 word 0x1f", "%d %19s %i", &number, word, &other) == 3);
}

void locales(long n) {
    for (long i = 0; i < n; i++) must(setlocale(LC_ALL, i & 1 ? "C" : "C.UTF-8") != nullptr);
}

void conversion(long n) {
    iconv_t way = iconv_open("UTF-16LE", "UTF-8");
    must(way != reinterpret_cast<iconv_t>(-1));
    for (long i = 0; i < n; i++) {
        char in[] = "some text with an umlaut \xc3\xa4 and more of it, as long as a line", out[300];
        char *from = in, *to = out;
        size_t left = sizeof in, room = sizeof out;
        must(iconv(way, &from, &left, &to, &room) == 0);
    }
}

void environment(long n) {
    for (long i = 0; i < n; i++) getenv(i & 1 ? "PATH" : "NO_SUCH_VARIABLE");
}

void virtuals(long n) {
    struct Base {
        virtual ~Base() = default;
        virtual long f(long x) = 0;
    };
    struct One : Base {
        long f(long x) override { return x + 1; }
    };
    struct Two : Base {
        long f(long x) override { return x ^ 3; }
    };
    std::vector<std::unique_ptr<Base>> all;
    for (int i = 0; i < 100; i++) all.emplace_back(i * 7 % 3 ? static_cast<Base *>(new One) : new Two);
    volatile long sum = 0;
    for (long i = 0; i < n; i++) sum = all[static_cast<size_t>(i % 100)]->f(sum);
}

void divisions(long n) {
    volatile unsigned long sum = 1;
    for (long i = 1; i <= n; i++) sum = sum * 6364136223846793005UL / static_cast<unsigned long>(i) % 1000000007;
}

void atomics(long n) {
    static long word;
    for (long i = 0; i < n; i++) __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
}

void repeated(long n) {
    static char from[4096], to[4096];
    for (long i = 0; i < n; i++) {
        void *source = from, *target = to;
        size_t count = static_cast<size_t>(16 + i % 512);
        asm volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count)::"memory");
    }
}

void cpuids(long n) {
    for (long i = 0; i < n; i++) {
        unsigned eax = 0, ebx, ecx = 0, edx;
        asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    }
}

void ticks(long n) {
    for (long i = 0; i < n; i++) __builtin_ia32_rdtsc();
}

} // namespace

extern "C" const struct corner compute_corners[] = {
    {"exceptions", 5000, exceptions},   {"doubles-sse", 3000, sse},
    {"doubles-avx2", 3000, avx2},       {"doubles-avx512", 3000, avx512},
    {"doubles-x87", 20000000, x87},     {"mathematics", 500000, mathematics},
    {"strings-long", 5000, strings},    {"strings-short", 2000000, strings_short},
    {"qsort", 200000, sorting},         {"trees", 100000, trees},
    {"regex", 20000, expressions},      {"snprintf", 300000, printing},
    {"printf", 300000, output},         {"sscanf", 100000, scanning},
    {"setlocale", 20000, locales},      {"iconv", 100000, conversion},
    {"getenv", 300000, environment},    {"virtuals", 10000000, virtuals},
    {"divisions", 30000000, divisions}, {"atomics", 50000000, atomics},
    {"rep-movsb", 2000000, repeated},   {"cpuid", 100000, cpuids},
    {"rdtsc", 1000000, ticks},          {nullptr, 0, nullptr}};

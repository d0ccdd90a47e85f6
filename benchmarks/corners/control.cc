#include <stdexcept>
#include <vector>
extern "C" {
#include "corners.h"
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
}
namespace {

void throws(long n) {
    long count = 0;
    for (long i = 0; i < n; i++) try {
            throw i;
        } catch (long what) {
            count += what == i;
        }
    must(count == n);
}

__attribute__((noinline)) long deep_throw(long depth) {
    if (!depth) throw depth;
    return deep_throw(depth - 1) + 1;
}

void throws_deep(long n) {
    for (long i = 0; i < n; i++) try {
            deep_throw(1000);
        } catch (long) {}
}

constexpr int fibers = 10000;
ucontext_t fiber[fibers], scheduler;
int running;

void in_fiber() {
    for (;;) {
        volatile char place[100];
        place[0] = 1;
        swapcontext(&fiber[running], &scheduler);
    }
}

void coroutines(long n) {
    for (int k = 0; k < fibers; k++) {
        getcontext(&fiber[k]);
        fiber[k].uc_stack.ss_size = 16384;
        fiber[k].uc_stack.ss_sp = malloc(16384);
        makecontext(&fiber[k], in_fiber, 0);
    }
    for (long i = 0; i < n; i++) {
        running = static_cast<int>(i * 7919 % fibers);
        swapcontext(&scheduler, &fiber[running]);
    }
}

/* What libraries of coroutines do: registers saved, RSP exchanged, in a few instructions. */
extern "C" void corner_switch(void **from, void *to);
asm("corner_switch: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "mov %rsp,(%rdi); mov %rsi,%rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret");
void *stack_of[fibers], *main_stack;

void light() {
    for (;;) {
        volatile char place[100];
        place[0] = 1;
        corner_switch(&stack_of[running], main_stack);
    }
}

void make_light(int k, char *low) {
    void **top = reinterpret_cast<void **>(low + 16384 - 64);
    top[6] = reinterpret_cast<void *>(light);
    for (int i = 0; i < 6; i++) top[i] = nullptr;
    stack_of[k] = top;
}

void switches(int count, long n) {
    for (long i = 0; i < n; i++) {
        running = static_cast<int>(i * 7919 % count);
        corner_switch(&main_stack, stack_of[running]);
    }
}

void light_heap(long n) {
    for (int k = 0; k < fibers; k++) make_light(k, static_cast<char *>(malloc(16384)));
    switches(fibers, n);
}

void light_mapped(long n) {
    for (int k = 0; k < 1000; k++)
        make_light(
            k, static_cast<char *>(mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    switches(1000, n);
}

void light_one(long n) {
    make_light(0, static_cast<char *>(malloc(16384)));
    switches(1, n);
}

/* lua's pcall: setjmp for each call, longjmp from some frames further down for some. */
__attribute__((noinline)) void fail(jmp_buf back, int depth) {
    volatile char frame[64];
    frame[0] = 1;
    if (depth)
        fail(back, depth - 1);
    else
        longjmp(back, 1);
}

__attribute__((noinline)) int guarded(int depth) {
    jmp_buf back;
    if (_setjmp(back)) return 1;
    if (depth) fail(back, depth);
    return 0;
}

void pcalls(long n) {
    volatile long failed = 0;
    for (long i = 0; i < n; i++) failed = failed + guarded(i % 4 ? 0 : 10);
}

__attribute__((noinline)) long million(long depth) {
    volatile long here = depth;
    return depth ? million(depth - 1) + here : 0;
}

void recursion(long n) {
    static ucontext_t away, home;
    static void (*work)() = [] {
        for (int i = 0; i < 10; i++) million(1000000);
    };
    size_t size = 256UL << 20;
    getcontext(&away);
    away.uc_stack.ss_sp =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    away.uc_stack.ss_size = size;
    away.uc_link = &home;
    for (long i = 0; i < n; i++) {
        makecontext(&away, work, 0);
        swapcontext(&home, &away);
    }
}

/* An interpreter: one indirect jump for each of 4,096 different handlers. */
void handlers(long n) {
    enum : int { count = 4096, size = 16 };
    static unsigned char *code;
    code = static_cast<unsigned char *>(
        mmap(nullptr, count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (int k = 0; k < count; k++) {
        const unsigned char one[] = {0x8d, 0x47, static_cast<unsigned char>(k & 15), 0xc3};
        memcpy(code + k * size, one, sizeof one);
    }
    must(!mprotect(code, count * size, PROT_READ | PROT_EXEC));
    unsigned at = 1;
    int sum = 0;
    for (long i = 0; i < n; i++) {
        at = at * 1664525 + 1013904223;
        sum = reinterpret_cast<int (*)(int)>(code + (at >> 20) * size)(sum);
    }
    must(sum != 1);
}

#define C4(m, k)   m(k) m(k + 1) m(k + 2) m(k + 3)
#define C16(m, k)  C4(m, k) C4(m, k + 4) C4(m, k + 8) C4(m, k + 12)
#define C64(m, k)  C16(m, k) C16(m, k + 16) C16(m, k + 32) C16(m, k + 48)
#define C256(m, k) C64(m, k) C64(m, k + 64) C64(m, k + 128) C64(m, k + 192)
#define ONE(k)                                                                                                         \
    case k:                                                                                                            \
        asm volatile("nop # %0" : "+r"(sum));                                                                          \
        sum += (k) ^ 5;                                                                                                \
        break;

__attribute__((noinline, optimize("no-jump-tables", "no-crossjumping"))) unsigned tree(unsigned what, unsigned sum) {
    switch (what) { C256(ONE, 0) }
    return sum;
}

__attribute__((noinline)) unsigned table(unsigned what, unsigned sum) {
    switch (what) { C256(ONE, 0) C256(ONE, 256) C256(ONE, 512) C256(ONE, 768) }
    return sum;
}

void switch_table(long n) {
    unsigned at = 1, sum = 0;
    for (long i = 0; i < n; i++) at = at * 1664525 + 1013904223, sum = table(at >> 22, sum);
    must(sum != 1);
}

void switch_tree(long n) {
    unsigned at = 1, sum = 0;
    for (long i = 0; i < n; i++) at = at * 1664525 + 1013904223, sum = tree(at >> 24, sum);
    must(sum != 1);
}

} // namespace

extern "C" const struct corner control_corners[] = {{"throws", 300000, throws},
                                                    {"throws-deep", 300, throws_deep},
                                                    {"contexts-10000", 200000, coroutines},
                                                    {"stacks-heap", 3000000, light_heap},
                                                    {"stacks-mapped", 3000000, light_mapped},
                                                    {"stacks-one", 5000000, light_one},
                                                    {"pcalls", 3000000, pcalls},
                                                    {"recursion", 3, recursion},
                                                    {"handlers", 10000000, handlers},
                                                    {"switch-table", 10000000, switch_table},
                                                    {"switch-tree", 10000000, switch_tree},
                                                    {nullptr, 0, nullptr}};

/* Random graphs of heap blocks, changed and searched for leaks again and again.
 *
 * usage: leak_graph SEED ROUNDS.  Everything that happens follows from the seed.  Pointers lie at any offset, lead to the
 * beginning, the inside and the end of blocks; roots are static variables, thread-local ones, mappings, stacks and
 * registers of a waiting thread.  The program's own list of its blocks is disguised, and the stack is cleared before
 * each search, so that nothing leads to a block but what the seed decided.  All blocks have nearly the same size, so
 * that they lie in the order of their allocation, whatever allocates them: of a cycle, the first is what is lost.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <new>
#include "valgrind/memcheck.h"

static uint64_t state;
static uint32_t rnd(uint32_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 20) % below;
}

enum { MOST = 200, STATICS = 12, MAPPED = 6 };
struct item {
    uint64_t disguised;
    uint32_t size, shape, maker;
};
static item items[MOST];
static uint32_t n_items;
static const uint64_t KEY = 0x5a5a5a5a5a5a5a5aull;

static void *statics[STATICS];
static thread_local void *local;
static void **mapped, **shared_map;
static uint64_t for_thread[4]; /* disguised: register, stack, TLS of it */

enum shape { PLAIN, STRING, LENGTH, ARRAY, TWO_BASES, SHAPES };

/* What the multipleinheritance heuristic looks for: vtables at the begin and at an inner pointer. */
struct base1 {
    virtual ~base1() {}
    long a;
};
struct base2 {
    virtual ~base2() {}
    long b;
};
struct both : base1, base2 {
    long c[3];
};
struct counted {
    ~counted() { value[0] = 0; }
    long value[2];
};

static char *place(uint32_t i) { return (char *)(items[i].disguised ^ KEY); }

template <int N> __attribute__((noinline)) static void *from(size_t size) {
    void *volatile p = malloc(size);
    return p;
}
template <int N> __attribute__((noinline)) static void *from_new(size_t size) {
    void *volatile p = ::operator new(size);
    return p;
}
__attribute__((noinline)) static void *deep(int depth, uint32_t which, size_t size) {
    void *volatile p = 0;
    if (depth > 0) {
        p = deep(depth - 1, which, size);
    } else {
        switch (which % 5) {
        case 0: p = from<0>(size); break;
        case 1: p = from<1>(size); break;
        case 2: p = from_new<2>(size); break;
        case 3: p = from_new<3>(size); break;
        default: p = calloc(1, size); break;
        }
    }
    return p;
}

__attribute__((noinline)) static void make(void) {
    if (n_items == MOST) return;
    item *it = &items[n_items];
    it->shape = rnd(3) ? (uint32_t)PLAIN : rnd(SHAPES);
    char *p;
    switch (it->shape) {
    case STRING: { /* length, capacity, references, characters */
        uint32_t capacity = 31;
        it->size = 24 + capacity + 1;
        p = (char *)from<4>(it->size);
        memset(p, 0, it->size);
        ((size_t *)p)[0] = rnd(capacity + 1), ((size_t *)p)[1] = capacity;
        break;
    }
    case LENGTH:
        it->size = 56 + 8 * rnd(2);
        p = (char *)from<5>(it->size);
        memset(p, 0, it->size);
        ((uint64_t *)p)[0] = it->size - 8 + (rnd(4) == 0);
        break;
    case ARRAY: {
        uint32_t n = 3;
        counted *array = new counted[n];
        memset(array, 0, n * sizeof *array);
        it->size = 8 + n * sizeof(counted);
        p = (char *)array - 8;
        break;
    }
    case TWO_BASES: p = (char *)new both(), it->size = sizeof(both); memset(p + 8, 0, 8); memset(p + 24, 0, 32); break;
    default:
        it->size = 49 + rnd(16);
        it->maker = rnd(100) % 5;
        p = (char *)deep((int)rnd(5), it->maker, it->size);
        memset(p, 0, it->size);
    }
    it->disguised = (uint64_t)p ^ KEY;
    n_items++;
}

/* An address of a block: mostly its first byte. */
__attribute__((noinline)) static uint64_t address(void) {
    if (!n_items) return 0;
    uint32_t i = rnd(n_items);
    uint64_t p = (uint64_t)place(i), size = items[i].size;
    switch (rnd(12)) {
    case 0: return p + rnd(size);
    case 1: return p + size;         /* behind it */
    case 2: return p - 1 - rnd(8);   /* before it */
    case 3: return p + 8 + 16 * rnd(3); /* where heuristics look */
    case 4: return p + 8;
    case 5: return p + 16;
    default: return p;
    }
}

__attribute__((noinline)) static void link(void) {
    if (!n_items) return;
    uint32_t i = rnd(n_items), size = items[i].size;
    char *p = place(i);
    uint32_t from = items[i].shape == STRING ? 24 : items[i].shape == LENGTH || items[i].shape == ARRAY ? 8
                    : items[i].shape == TWO_BASES ? 32 : 0;
    if (size < from + 8) return;
    uint64_t value = address();
    uint32_t words = (size - from) / 8;
    uint32_t at = from + 8 * rnd(words);
    if (rnd(20) == 0 && at + 12 <= size) at += 4; /* not aligned: nobody sees it */
    memcpy(p + at, &value, 8);
    if (rnd(25) == 0) VALGRIND_MAKE_MEM_UNDEFINED(p + at, 1 + rnd(8)); /* nor what is undefined */
    value = 0;
}

__attribute__((noinline)) static void root(void) {
    uint64_t value = rnd(3) ? address() : 0;
    switch (rnd(5)) {
    case 0:
    case 1: memcpy(&statics[rnd(STATICS)], &value, 8); break;
    case 2: memcpy(&local, &value, 8); break;
    case 3: memcpy(&mapped[rnd(MAPPED) * 700], &value, 8); break;
    default: memcpy(&shared_map[rnd(MAPPED)], &value, 8); break;
    }
    value = 0;
}

__attribute__((noinline)) static void cut(void) {
    if (!n_items) return;
    uint32_t i = rnd(n_items);
    if (items[i].shape == PLAIN) memset(place(i), 0, items[i].size);
}

__attribute__((noinline)) static void release(void) {
    if (!n_items) return;
    uint32_t i = rnd(n_items);
    if (items[i].shape != PLAIN) return; /* the others are freed by what made them */
    char *p = place(i);
    memset(p, 0, items[i].size);
    if (items[i].maker == 2 || items[i].maker == 3)
        ::operator delete(p);
    else
        free(p);
    items[i] = items[--n_items];
    memset(&items[n_items], 0, sizeof *items);
}

/* ---- a thread that waits with pointers in its registers, on its stack and in its TLS ---- */

static void *waits(void *) {
    void *volatile kept[2] = {(void *)(for_thread[1] ^ KEY), 0};
    local = (void *)(for_thread[2] ^ KEY);
    uint64_t value = for_thread[0] ^ KEY;
    for_thread[0] = for_thread[1] = for_thread[2] = KEY;
    __asm__ volatile(
        "mov %0, %%r12\n\t"
        "mov %0, %%r13\n\t"
        "movq %0, %%xmm5\n\t"
        "xor %0, %0\n\t"
        "movl $1, stage_word(%%rip)\n"
        "1:\n\t"
        "mov $24, %%eax\n\t" /* sched_yield */
        "syscall\n\t"
        "cmpl $2, stage_word(%%rip)\n\t"
        "jne 1b\n\t"
        "xor %%r12, %%r12\n\t"
        "xor %%r13, %%r13\n\t"
        : "+r"(value) : : "rax", "rcx", "r11", "r12", "r13", "xmm5", "memory", "cc");
    local = (void *)kept[0];
    kept[0] = 0;
    local = 0;
    return 0;
}
extern "C" { volatile int stage_word; }

__attribute__((noinline)) static void clear_stack(void) {
    volatile char room[16384];
    for (unsigned i = 0; i < sizeof room; i++) room[i] = 0;
    __asm__ volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\t"
                     "xor %%edi, %%edi\n\txor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\t"
                     "xor %%r11d, %%r11d\n\tvzeroall" ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

__attribute__((noinline)) static void count(const char *when) {
    unsigned long leaked, dubious, reachable, suppressed;
    VALGRIND_COUNT_LEAKS(leaked, dubious, reachable, suppressed);
    VALGRIND_PRINTF("%s: %lu %lu %lu %lu bytes\n", when, leaked, dubious, reachable, suppressed);
    VALGRIND_COUNT_LEAK_BLOCKS(leaked, dubious, reachable, suppressed);
    VALGRIND_PRINTF("%s: %lu %lu %lu %lu blocks\n", when, leaked, dubious, reachable, suppressed);
}

__attribute__((noinline)) static void search(void) {
    switch (rnd(5)) {
    case 0: VALGRIND_DO_LEAK_CHECK; break;
    case 1: VALGRIND_DO_QUICK_LEAK_CHECK; break;
    case 2: VALGRIND_DO_ADDED_LEAK_CHECK; break;
    case 3: VALGRIND_DO_CHANGED_LEAK_CHECK; break;
    default: break;
    }
}

int main(int argc, char **argv) {
    state = strtoull(argv[1], 0, 10) * 0x9e3779b97f4a7c15ull | 1;
    for (int i = 0; i < 20; i++) rnd(2);
    int rounds = atoi(argv[2]);
    for (auto &word : for_thread) word = KEY;
    mapped = (void **)mmap(0, MAPPED * 5600 + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    shared_map = (void **)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int r = 0; r < rounds; r++) {
        for (uint32_t i = 5 + rnd(20); i > 0; i--) make();
        for (uint32_t i = rnd(60); i > 0; i--) link();
        for (uint32_t i = rnd(8); i > 0; i--) root();
        for (uint32_t i = rnd(4); i > 0; i--) cut();
        for (uint32_t i = rnd(6); i > 0; i--) release();
        bool with_thread = rnd(2);
        pthread_t thread;
        if (with_thread) {
            for (int i = 0; i < 3; i++) for_thread[i] = (rnd(2) ? address() : 0) ^ KEY;
            stage_word = 0;
            if (pthread_create(&thread, 0, waits, 0)) abort();
            while (stage_word != 1) sched_yield();
        }
        clear_stack();
        VALGRIND_PRINTF("round %d\n", r);
        search();
        clear_stack();
        count("now");
        if (with_thread) {
            stage_word = 2;
            pthread_join(thread, 0);
        }
    }
    clear_stack();
    memset(items, 0, sizeof items);
    return 0;
}

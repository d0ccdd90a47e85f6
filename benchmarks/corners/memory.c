#define _GNU_SOURCE
#include "corners.h"
#include <errno.h>
#include <sys/mman.h>

#define PAGE 4096UL

static char *pages(unsigned long count) {
    char *at = mmap(0, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(at != MAP_FAILED);
    return at;
}

/* Mappings that the kernel cannot join stay live. */
static void many_live(long n) {
    for (long i = 0; i < n; i++) {
        void *at = mmap(0, PAGE, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(at != MAP_FAILED);
    }
}

static void come_and_go(long n) {
    for (long i = 0; i < n; i++) {
        char *at = pages(16);
        at[0] = at[PAGE] = 1;
        munmap(at, 16 * PAGE);
    }
}

/* A window of 4,000 live ones, of which the oldest goes. */
static void window(long n) {
    enum { LIVE = 4000 };
    static char *at[LIVE];
    for (long i = 0; i < n; i++) {
        char **slot = &at[i * 7919 % LIVE];
        if (*slot) munmap(*slot, PAGE * (1 + i % 3));
        *slot = mmap(0, PAGE * (1 + (i + LIVE) % 3), i & 1 ? PROT_READ : PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(*slot != MAP_FAILED);
    }
}

static void large_block(long n) {
    for (long i = 0; i < n; i++) {
        char *at = malloc(1 << 20);
        at[i % (1 << 20)] = 1;
        free(at);
    }
}

static void protect(long n) {
    char *at = pages(2000);
    for (long i = 0; i < n; i++)
        must(!mprotect(at + i * 7 % 2000 * PAGE, PAGE, i / 2000 & 1 ? PROT_READ | PROT_WRITE : PROT_READ));
}

static void guards(long n) {
    for (long i = 0; i < n; i++) {
        char *at = pages(10);
        must(!mprotect(at, PAGE, PROT_NONE) && !mprotect(at + 9 * PAGE, PAGE, PROT_NONE));
        at[PAGE] = 1;
        munmap(at, 10 * PAGE);
    }
}

static void jit(long n) {
    static const unsigned char code[] = {0x8d, 0x47, 0x01, 0xc3}; /* lea 1(%rdi),%eax; ret */
    int sum = 0;
    for (long i = 0; i < n; i++) {
        char *at = pages(1);
        memcpy(at, code, sizeof code);
        must(!mprotect(at, PAGE, PROT_READ | PROT_EXEC));
        sum = ((int (*)(int))at)(sum);
        munmap(at, PAGE);
    }
    must(sum == n);
}

/* One writable page of code, each of whose functions is overwritten in turn. */
static void rewrite(long n) {
    char *at = mmap(0, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (long i = 0; i < n; i++) {
        unsigned char code[] = {0x8d, 0x47, i & 15, 0xc3};
        memcpy(at + i % 64 * 64, code, sizeof code);
        sum = ((int (*)(int))(at + i % 64 * 64))(0);
    }
    must(sum == ((n - 1) & 15));
}

static void remap_growth(long n) {
    for (long i = 0; i < n; i++) {
        char *at = pages(1);
        for (unsigned long size = 1; size < 256; size *= 2) {
            at = mremap(at, size * PAGE, 2 * size * PAGE, MREMAP_MAYMOVE);
            must(at != MAP_FAILED);
            at[(2 * size - 1) * PAGE] = 1;
        }
        munmap(at, 256 * PAGE);
    }
}

static void give_back(long n) {
    char *at = pages(256);
    for (long i = 0; i < n; i++) {
        at[i % 256 * PAGE] = 1;
        must(!madvise(at + i % 256 * PAGE, PAGE, MADV_DONTNEED));
    }
}

static void realloc_growth(long n) {
    for (long i = 0; i < n; i++) {
        char *at = 0;
        for (size_t size = 16; size < 100000; size += 16 + size / 16) {
            at = realloc(at, size);
            at[size - 1] = 1;
        }
        free(at);
    }
}

static void realloc_large(long n) {
    char *at = malloc(1);
    for (long i = 1; i <= n; i++) {
        at = realloc(at, i * 4096);
        at[i * 4096 - 1] = 1;
    }
    free(at);
}

static void callocs(long n) {
    for (long i = 0; i < n; i++) {
        char *at = calloc(1 + i % 5, 1000);
        must(!at[i % 1000]);
        free(at);
    }
}

static void aligned(long n) {
    void *kept[64] = {0};
    for (long i = 0; i < n; i++) {
        free(kept[i % 64]);
        must(!posix_memalign(&kept[i % 64], 16UL << i % 9, 24 + i % 1000));
    }
}

static void copy_large(long n) {
    char *a = malloc(64 << 20), *b = malloc(64 << 20);
    memset(a, 1, 64 << 20);
    for (long i = 0; i < n; i++) {
        memcpy(b, a, 64 << 20);
        memset(a, b[i], 64 << 20);
    }
    must(b[n] == 1);
}

static void copy_undefined(long n) {
    char *volatile a = malloc(16 << 20), *volatile b = malloc(16 << 20);
    for (long i = 0; i < n; i++) memmove(i & 1 ? a : b, i & 1 ? b : a, 16 << 20);
}

static void copy_small(long n) {
    static char a[4096], b[4096];
    for (long i = 0; i < n; i++) memcpy(b + i % 64, a + i % 61, (size_t)(i % 200));
}

static int deeper(long depth) {
    volatile char frame[200];
    frame[0] = (char)depth;
    return depth ? deeper(depth - 1) + frame[0] : 0;
}

static void deep(long n) {
    static int sum;
    for (long i = 0; i < n; i++) sum += deeper(30000); /* nearly the usual limit */
}

static void touch(long n) {
    for (long i = 0; i < n; i++) {
        char *at = pages(4096);
        for (unsigned long page = 0; page < 4096; page++) at[page * PAGE] = 1;
        munmap(at, 4096 * PAGE);
    }
}

static void too_large(long n) {
    volatile size_t size = ~0UL / 2; /* no compiler warns */
    for (long i = 0; i < n; i++) {
        errno = 0;
        must(malloc(size) == NULL && errno == ENOMEM);
    }
}

const struct corner memory_corners[] = {{"map-live", 20000, many_live},
                                        {"map-come-and-go", 100000, come_and_go},
                                        {"map-window", 100000, window},
                                        {"map-protect", 100000, protect},
                                        {"map-guards", 50000, guards},
                                        {"map-jit", 10000, jit},
                                        {"map-remap", 5000, remap_growth},
                                        {"map-give-back", 100000, give_back},
                                        {"map-touch", 20, touch},
                                        {"code-rewrite", 100000, rewrite},
                                        {"heap-large", 200000, large_block},
                                        {"heap-realloc", 1000, realloc_growth},
                                        {"heap-realloc-large", 1500, realloc_large},
                                        {"heap-calloc", 300000, callocs},
                                        {"heap-aligned", 300000, aligned},
                                        {"heap-too-large", 100000, too_large},
                                        {"copy-large", 20, copy_large},
                                        {"copy-undefined", 50, copy_undefined},
                                        {"copy-small", 5000000, copy_small},
                                        {"stack-deep", 100, deep},
                                        {0, 0, 0}};

/* The same instructions move undefined bits again and again, meanwhile between other blocks and frames: what was known of
 * a block, a stretch of memory, a frame, is not taken for what is there now.
 * @options: --track-origins=yes --freelist-vol=0 */
#include <stdlib.h>
#include <string.h>

#include "valgrind/memcheck.h"

#define ROUNDS 5

static volatile int reached;

__attribute__((noinline)) static void tested(long x) {
    if (x & 1)
        reached++;
}

__attribute__((noinline)) static char *first(void) { return malloc(4096); }
__attribute__((noinline)) static char *second(void) { return malloc(4096); }
__attribute__((noinline)) static char *third(void) { return malloc(4096); }

__attribute__((noinline)) static void by_byte(char *to, const char *from) {
    __asm__ volatile("movb (%1), %%al; movb %%al, (%0)" : : "r"(to), "r"(from) : "rax", "memory");
}
__attribute__((noinline)) static void by_four(char *to, const char *from) {
    __asm__ volatile("movl (%1), %%eax; movl %%eax, (%0)" : : "r"(to), "r"(from) : "rax", "memory");
}
__attribute__((noinline)) static void by_eight(char *to, const char *from) {
    __asm__ volatile("movq (%1), %%rax; movq %%rax, (%0)" : : "r"(to), "r"(from) : "rax", "memory");
}
/* The register of the address is what is loaded. */
__attribute__((noinline)) static void by_itself(char *to, const char *from) {
    __asm__ volatile("movq (%1), %1; movq %1, (%0)" : : "r"(to), "r"(from) : "memory");
}
__attribute__((noinline)) static void by_sixteen(char *to, const char *from) {
    __asm__ volatile("movups (%1), %%xmm0; movups %%xmm0, (%0)" : : "r"(to), "r"(from) : "xmm0", "memory");
}

/* Each of them, of n bytes: what was moved last is what came last. */
#define MOVED(how, n)                                                                                                  \
    {                                                                                                                  \
        char *p = first(), *q = second(), own[64] = {0};                                                               \
        long word = 0;                                                                                                 \
        for (int i = 0; i < ROUNDS; i++)                                                                               \
            how(q + 16 * i, p + 64 * i);                                                                               \
        memcpy(&word, q + 16, n);                                                                                      \
        tested(word); /* first's */                                                                                    \
        memcpy(&word, q + 80, n);                                                                                      \
        tested(word); /* second's own */                                                                               \
        for (int i = 0; i < ROUNDS; i++)                                                                               \
            how(own + 8, p + 1024 + 64 * i), how(own + 32, own + 8), how(p + 2048 + 64 * i, own + 32);                 \
        memcpy(&word, own + 32, n);                                                                                    \
        tested(word);                                                                                                  \
        memcpy(&word, p + 2048 + 128, n);                                                                              \
        tested(word);                                                                                                  \
        how(own + 8, q + 2048), how(own + 8, q + 2048), how(own + 32, own + 8);                                        \
        memcpy(&word, own + 32, n);                                                                                    \
        tested(word); /* second's, over first's */                                                                     \
        how(own + 9, p), how(own + 9, p), how(q + 2051, own + 9);                                                      \
        memcpy(&word, q + 2051, n);                                                                                    \
        tested(word); /* first's, at no multiple of four */                                                            \
        free(p);                                                                                                       \
        p = third(); /* most likely there */                                                                           \
        how(own + 8, p + 128), how(own + 8, p + 192), how(q, own + 8);                                                 \
        memcpy(&word, q, n);                                                                                           \
        tested(word);                                                                                                  \
        free(p), free(q);                                                                                              \
    }

/* Two halves, of other blocks: the newer one's. */
static void halves(void) {
    char *p = first(), *q = second(), *r = third();
    long words[2];
    for (int i = 0; i < ROUNDS; i++) {
        by_eight(r, p), by_eight(r + 8, q);
        by_sixteen(r + 32, r);
        by_four(r + 64, p), by_four(r + 68, q);
        by_eight(r + 80, r + 64);
    }
    memcpy(words, r + 32, 16);
    tested(words[0]);
    memcpy(words, r + 80, 8);
    tested(words[0]);
    free(p), free(q), free(r);
}

/* One place in the code, one on the stack, two functions, each with words of its own. */
__attribute__((noinline)) static void one(char *to) {
    char own[64];
    by_eight(to, own + 8);
    __asm__ volatile("movq 8(%1), %%rax; movq %%rax, (%0)" : : "r"(to), "r"(own) : "rax", "memory");
}
__attribute__((noinline)) static void other(char *to) {
    char own[64];
    by_eight(to, own + 8);
    __asm__ volatile("movq 8(%1), %%rax; movq %%rax, (%0)" : : "r"(to), "r"(own) : "rax", "memory");
}
static void frames(void) {
    void (*volatile callee)(char *) = one;
    char *q = second();
    for (int i = 0; i < 2 * ROUNDS; i++) {
        callee = i & 1 ? other : one;
        callee(q + 16 * i);
    }
    tested(*(long *)(q + 16 * 6));
    tested(*(long *)(q + 16 * 7));
    free(q);
}

/* More functions than are remembered at once, each with a word of its own. */
#define FUNCTION(n)                                                                                                    \
    __attribute__((noinline)) static void function_##n(char *to) {                                                     \
        char own[64];                                                                                                  \
        __asm__ volatile("movq 8(%1), %%rax; movq %%rax, (%0)" : : "r"(to), "r"(own) : "rax", "memory");               \
    }
#define NAMED(n) function_##n,
#define EIGHT(what, n) what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7)
#define MANY(what, n)                                                                                                  \
    EIGHT(what, n##0) EIGHT(what, n##1) EIGHT(what, n##2) EIGHT(what, n##3)                                            \
    EIGHT(what, n##4) EIGHT(what, n##5) EIGHT(what, n##6) EIGHT(what, n##7)
#define ALL(what)                                                                                                      \
    MANY(what, 0) MANY(what, 1) MANY(what, 2) MANY(what, 3) MANY(what, 4) MANY(what, 5) MANY(what, 6) MANY(what, 7)
ALL(FUNCTION)
static void (*const functions[])(char *) = {ALL(NAMED)};

static void many_functions(void) {
    char *q = second();
    for (int i = 0; i < 3; i++)
        for (unsigned k = 0; k < sizeof functions / sizeof *functions; k++)
            functions[k](q + 8 * (k % 512));
    tested(*(long *)(q + 8 * 5));
    tested(*(long *)(q + 8 * 99));
    tested(*(long *)(q + 8 * 211));
    tested(*(long *)(q + 8 * 404));
    free(q);
}

/* Blocks of the program's own within one whose words are known. */
__attribute__((noinline)) static void like_malloc(char *p) { VALGRIND_MALLOCLIKE_BLOCK(p, 64, 0, 0); }
__attribute__((noinline)) static void by_request(char *p) { (void)VALGRIND_MAKE_MEM_UNDEFINED(p, 64); }
static void blocks_in_it(void) {
    char *p = first(), *q = second();
    for (int i = 0; i < ROUNDS; i++)
        by_eight(q, p + 64 * i);
    by_request(p + 64);
    by_eight(q + 16, p + 64);
    tested(*(long *)(q + 16));
    like_malloc(p + 256);
    by_eight(q + 32, p + 256);
    tested(*(long *)(q + 32));
    by_eight(q + 48, p + 512);
    tested(*(long *)(q + 48));
    VALGRIND_FREELIKE_BLOCK(p + 256, 0);
    free(p), free(q);
}

__attribute__((noinline)) static void chunk(char *pool, char *p) { VALGRIND_MEMPOOL_ALLOC(pool, p, 64); }
static void pools(void) {
    char *p = first(), *q = second();
    for (int i = 0; i < ROUNDS; i++)
        by_eight(q, p + 64 * i);
    VALGRIND_CREATE_MEMPOOL(p, 0, 0);
    chunk(p, p + 256);
    by_eight(q + 16, p + 256);
    tested(*(long *)(q + 16));
    VALGRIND_DESTROY_MEMPOOL(p);
    free(p), free(q);
}

int main(void) {
    MOVED(by_byte, 1)
    MOVED(by_four, 4)
    MOVED(by_eight, 8)
    MOVED(by_itself, 8)
    MOVED(by_sixteen, 8)
    halves();
    frames();
    many_functions();
    blocks_in_it();
    pools();
    return reached == 1000;
}

/* Undefined words of frames that are not the newest one are moved again and again, at several depths, in frames that
 * another function's have taken the place of, behind longjmp, from a handler on a stack of its own.
 * @options: --track-origins=yes */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 4

static volatile int reached;

__attribute__((noinline)) static void tested(long x) {
    if (x & 1) reached++;
}

/* From NULL: what it moves is its own. */
#define WAY(name, by, registers)                                                                                       \
    __attribute__((noinline)) static void name(char *to, const char *from) {                                           \
        char own[64];                                                                                                  \
        if (!from) from = own;                                                                                         \
        __asm__ volatile(by : : "r"(to), "r"(from), "r"(own) : registers, "memory");                                   \
    }
WAY(by_one, "movb (%1), %%al; movb %%al, (%0)", "rax")
WAY(by_eight, "movq (%1), %%rax; movq %%rax, (%0)", "rax")
WAY(by_sixteen, "movups (%1), %%xmm0; movups %%xmm0, (%0)", "xmm0")
static void (*const ways[])(char *, const char *) = {by_one, by_eight, by_sixteen};

/* So many frames further in. */
__attribute__((noinline)) static void deeper(int depth, int way, char *to, const char *from) {
    volatile char own[32];
    own[0] = 0;
    if (depth)
        deeper(depth - 1, way, to, from);
    else
        ways[way](to, from);
    own[1] = 0;
}

static void test_word(const char *at) {
    long word = 0;
    memcpy(&word, at, 1);
    tested(word);
}

/* What nobody has moved yet is this frame's; what block has goes there and back. */
__attribute__((noinline)) static void one(char *block, char *sink) {
    char own[64];
    for (int depth = 0; depth < 3; depth++)
        for (int way = 0; way < 3; way++) {
            for (int i = 0; i < ROUNDS; i++) deeper(depth, way, sink, own + 16);
            test_word(sink);
            for (int i = 0; i < ROUNDS; i++) deeper(depth, way, own + 32, block), deeper(2 - depth, way, sink, own + 32);
            test_word(sink);
            test_word(own + 32);
            for (int i = 0; i < ROUNDS; i++) deeper(depth, way, own + 32, NULL), deeper(depth, way, sink, own + 32);
            test_word(sink);
            for (int i = 0; i < ROUNDS; i++) deeper(depth, way, own + 32, own), deeper(depth, way, sink, own + 32);
            test_word(sink);
        }
}

/* A frame in the same place, which has words of its own where one has had what it was given. */
__attribute__((noinline)) static void other(char *block, char *sink) {
    char own[64];
    (void)block;
    for (int way = 0; way < 3; way++)
        for (int i = 0; i < ROUNDS; i++) deeper(1, way, sink + 32 * way, own + 32);
    for (int way = 0; way < 3; way++) test_word(sink + 32 * way);
}

/* Between its frame and the newest are forty others. */
__attribute__((noinline)) static void far_away(char *block, char *sink) {
    char own[64];
    for (int i = 0; i < ROUNDS; i++) deeper(40, 1, sink, own), deeper(40, 1, own + 16, block), deeper(40, 1, sink + 16, own + 16);
    test_word(sink);
    test_word(sink + 16);
}

static jmp_buf back;

__attribute__((noinline)) static void leave(int depth, char *to, const char *from) {
    volatile char own[48];
    own[0] = 0;
    if (depth) leave(depth - 1, to, from);
    by_eight(to, from);
    own[1] = 0;
    longjmp(back, 1);
}

/* Calls that were left are known of until this one returns. */
__attribute__((noinline)) static void left(int depth, char *to, const char *from) {
    volatile char own[256];
    own[0] = 0;
    if (!setjmp(back)) leave(depth, to, from);
    deeper(depth, 1, to, from);
    deeper(depth, 1, to, from);
    own[1] = 0;
}

__attribute__((noinline)) static void behind_jumps(char *block, char *sink) {
    char own[64];
    for (volatile int i = 0; i < ROUNDS; i++) {
        if (!setjmp(back)) leave(i, sink, own);
        deeper(2, 1, own + 16, block);
        deeper(1, 1, sink + 16, own + 16);
        deeper(i, 1, sink + 32, own + 32);
        left(i, own + 48, block + 16);
        deeper(0, 1, sink + 48, own + 48);
    }
    test_word(sink + 48);
    test_word(sink);
    test_word(sink + 16);
    test_word(sink + 32);
}

static char *volatile handlers_from, *volatile handlers_to;

static void handler(int sig) {
    (void)sig;
    for (int i = 0; i < ROUNDS; i++) deeper(1, 1, handlers_to, handlers_from);
    test_word(handlers_to);
}

__attribute__((noinline)) static void interrupted(char *block, char *sink) {
    char own[64];
    handlers_to = sink;
    for (int i = 0; i < ROUNDS; i++) deeper(2, 1, own + 16, block);
    handlers_from = own + 16;
    raise(SIGUSR1);
    handlers_from = own;
    raise(SIGUSR2);
}

int main(void) {
    static char stack[1 << 16];
    char *block = malloc(64), *sink = malloc(256);
    stack_t ss = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction sa = {.sa_handler = handler};
    sigaction(SIGUSR1, &sa, NULL);
    sa.sa_flags = SA_ONSTACK;
    sigaltstack(&ss, NULL);
    sigaction(SIGUSR2, &sa, NULL);
    one(block, sink);
    other(block, sink);
    one(block, sink);
    far_away(block, sink);
    behind_jumps(block, sink);
    interrupted(block, sink);
    free(block), free(sink);
    return 0;
}

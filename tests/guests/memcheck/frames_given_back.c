/* Frames of many sizes, at multiples of 8 and 16, are filled and given back by an amount that is in a register: what
 * is taken there next is undefined, all of it, and what lies above stays as it was. */
#include <stdio.h>
#include <string.h>

#include <valgrind/memcheck.h>

#define MOST 70000

/* Below so many words: takes size bytes, fills them and gives them back. */
void fill(unsigned long size, unsigned long words);
__asm__(".text\n"
        "fill:\n"
        "  mov %rsi, %rcx\n"
        "1: push %rax\n"
        "  dec %rcx\n"
        "  jne 1b\n"
        "  call 3f\n"
        "2: pop %rax\n"
        "  dec %rsi\n"
        "  jne 2b\n"
        "  ret\n"
        "3: sub %rdi, %rsp\n"
        "  mov %rdi, %rdx\n"
        "  mov %rdi, %rcx\n"
        "  mov %rsp, %rdi\n"
        "  mov $1, %al\n"
        "  rep stosb\n"
        "  add %rdx, %rsp\n"
        "  ret\n");

static unsigned char bits[MOST + 256];

__attribute__((noinline)) static unsigned defined_in(unsigned long size) {
    unsigned n = 0;
    char *p = __builtin_alloca(size);
    if (VALGRIND_GET_VBITS(p, bits, size) != 1) return ~0u;
    for (unsigned long i = 0; i < size; i++) n += bits[i] == 0;
    return n;
}

int main(void) {
    static const unsigned large[] = {1000, 1016, 1024, 4000, 4088, 8184, 8192, 8200, 12000, 65528, 65536, 65544, MOST};
    char above[64];
    unsigned wrong = 0, at = 0;
    memset(above, 7, sizeof above);
    for (unsigned k = 0; k < 90 + sizeof large / sizeof large[0]; k++) {
        unsigned size = k < 90 ? 8 * k + (k % 3 == 0) : large[k - 90];
        for (unsigned words = 20; words < 22; words++) { /* at a multiple of 16 and not */
            fill(size, words);
            unsigned n = defined_in(size + 256);
            if (n && !wrong++) at = size;
        }
    }
    for (unsigned i = 0; i < sizeof above; i++) wrong += above[i] != 7;
    fprintf(stderr, "%u wrong, the first of %u bytes\n", wrong, at);
    return wrong != 0;
}

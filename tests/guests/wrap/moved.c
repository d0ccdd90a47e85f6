/* Moves code that is wrapped, and an allocator of the program's own, to anonymous memory at the same place.  moved HOW
 * [report | unmap]: reads behind a block; unmaps it. */
#define _GNU_SOURCE
#include "header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
#define MOVED __attribute__((section(".moved"), noipa))

/* Whole pages of their own. */
__asm__(".section .moved,\"ax\",@progbits\n.balign 4096\nmoved_start:\n.previous");
extern char moved_start[], moved_end[];

static struct header {
    unsigned long magic, size;
} pool[4096];
static size_t used;

MOVED void *malloc(size_t size) {
    struct header *block = pool + used;
    used += 1 + (size + sizeof *block - 1) / sizeof *block;
    block->magic = 0x600d;
    block->size = size;
    return block + 1;
}

MOVED void free(void *at) {
    if (at && ((struct header *)at)[-1].magic != 0x600d) abort();
}

MOVED int foo(int x) {
    return x + 1;
}

MOVED int read_behind(const char *block) {
    return block[10];
}

__asm__(".section .moved,\"ax\",@progbits\n.balign 4096\nmoved_end:\n.previous");

__attribute__((noipa)) int stays(int x) {
    return x + 2;
}

int I_WRAP_SONAME_FNNAME_ZU(NONE, foo)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result + 100;
}

int I_WRAP_SONAME_FNNAME_ZU(NONE, stays)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result + 100;
}

static void move_code(const char *how) {
    static char copy[16 * PAGE];
    size_t length = (size_t)(moved_end - moved_start);
    if (length > sizeof copy) abort();
    memcpy(copy, moved_start, length);
    if (!strcmp(how, "remap")) {
        char *there = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(there, copy, length);
        mprotect(there, length, PROT_READ | PROT_EXEC);
        if (mremap(there, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, moved_start) != moved_start) abort();
        return;
    }
    int prot = PROT_READ | PROT_WRITE | (strcmp(how, "writable") ? 0 : PROT_EXEC);
    if (mmap(moved_start, length, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != moved_start) abort();
    memcpy(moved_start, copy, length);
    if (!(prot & PROT_EXEC)) mprotect(moved_start, length, PROT_READ | PROT_EXEC);
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[2] : "";
    static char buffer[BUFSIZ];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* no malloc at the end */
    void *early = malloc(10);
    int before = foo(2);
    move_code(argv[1]);
    int after = foo(2), other = stays(2);
    void *late = malloc(10);
    if (!strcmp(what, "report")) read_behind(late);
    free(early);
    free(late);
    printf("%d %d %d\n", before, after, other);
    if (!strcmp(what, "unmap")) { /* something else is there from now on */
        static const unsigned char code[] = {0x8d, 0x47, 0x01, 0xc3}; /* lea 1(%rdi),%eax; ret */
        munmap(moved_start, PAGE);
        mmap(moved_start, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        memcpy((char *)foo, code, sizeof code);
        printf("%d\n", foo(2));
    }
    return 0;
}

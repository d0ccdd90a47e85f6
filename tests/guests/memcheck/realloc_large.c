/* A large block keeps its bytes and what is known of them where it grows, shrinks, is in part read-only, or another
 * process has it, too; the old one is nobody's. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "interpose/memcheck.h"

#define MIB (1ul << 20)

static unsigned char byte_of(size_t i) { return (unsigned char)(i * 7 + (i >> 12)); }

static unsigned char *filled(size_t size) {
    unsigned char *block = malloc(size);
    for (size_t i = 0; i < size; i++) block[i] = byte_of(i);
    return block;
}

static int is_whole(const unsigned char *block, size_t size) {
    int whole = 1;
    for (size_t i = 0; i < size; i++) whole &= block[i] == byte_of(i);
    return whole;
}

static void look(const char *what, const unsigned char *at) {
    unsigned char bits[8] = {0};
    int answer = (int)VALGRIND_GET_VBITS(at, bits, 8);
    VALGRIND_PRINTF("%s: %d %02x %02x\n", what, answer, bits[0], bits[7]);
}

int main(void) {
    int whole = 1;
    for (size_t size = 2 * MIB - 40; size < 2 * MIB + 8300; size += 1021) {
        unsigned char *block = realloc(filled(size), size + MIB);
        whole &= is_whole(block, size);
        block = realloc(block, size - 3000);
        whole &= is_whole(block, size - 3000);
        free(block);
    }
    VALGRIND_PRINTF("whole: %d\n", whole);

    unsigned char *old = filled(6 * MIB);
    VALGRIND_MAKE_MEM_UNDEFINED(old + 3 * MIB, 4);
    VALGRIND_MAKE_MEM_NOACCESS(old + 4 * MIB, 9);
    unsigned char *block = realloc(old, 7 * MIB);
    look("undefined", block + 3 * MIB);
    look("before", block + 3 * MIB - 4);
    look("closed", block + 4 * MIB);
    look("new", block + 6 * MIB);
    look("old", old + MIB);
    volatile unsigned char stale = old[5000];

    pid_t pid = fork();
    block = realloc(block, 8 * MIB);
    VALGRIND_MAKE_MEM_DEFINED(block, 6 * MIB);
    whole = is_whole(block, 6 * MIB);
    if (!pid) _exit(whole);
    int status;
    waitpid(pid, &status, 0);
    VALGRIND_PRINTF("in both: %d %d\n", whole, WEXITSTATUS(status));
    free(block);

    block = aligned_alloc(4096, 8 * MIB);
    memset(block, 3, 8 * MIB);
    mprotect(block + MIB, 4096, PROT_READ);
    block = realloc(block, 9 * MIB);
    block[MIB + 5] = 4;
    VALGRIND_PRINTF("read-only: %d %d %d\n", block[MIB + 4], block[MIB + 5], block[8 * MIB - 1]);
    free(block);
    return stale & 0;
}

/* MAKE_MEM_DEFINED_IF_ADDRESSABLE of a TiB, with little mapped there, or ("reserve") with much. */
#define _GNU_SOURCE
#include <interpose/memcheck.h>
#include <stdio.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
    char undefined[8];
    INTERPOSE_MAKE_MEM_UNDEFINED(undefined, 8);
    unsigned long len = 1ul << 40;
    char *from = 0;
    if (argc > 1) {
        from = mmap(0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (from == MAP_FAILED) return 1;
    }
    puts("begins");
    fflush(stdout);
    if (INTERPOSE_MAKE_MEM_DEFINED_IF_ADDRESSABLE(from, len) != -1ul) return 2;
    if (argc == 1 && INTERPOSE_MAKE_MEM_DEFINED_IF_ADDRESSABLE(undefined - 64, 1ul << 44) != -1ul) return 3;
    if (argc == 1 && INTERPOSE_CHECK_MEM_IS_DEFINED(undefined, 8)) return 4;
    puts("done");
    return 0;
}

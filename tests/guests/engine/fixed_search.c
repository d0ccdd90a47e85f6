/* A program that looks for a free place by MAP_FIXED_NOREPLACE comes past what is not for it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void search(unsigned long from, unsigned long step, int most) {
    void *at = MAP_FAILED;
    for (int i = 0; i < most && at == MAP_FAILED; i++) {
        at = mmap((void *)(from + i * step), 1 << 20, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == MAP_FAILED && errno != EEXIST) break;
    }
    printf("%s\n", at == MAP_FAILED ? strerror(errno) : "found");
}

int main(void) {
    search(0x5d000000, 1ul << 24, 100);
    search(0x7dc00000, 1ul << 21, 100);
    void *high = mmap((void *)(1ul << 47), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    printf("beyond the end: %s\n", high == MAP_FAILED ? strerror(errno) : "found");
    return 0;
}

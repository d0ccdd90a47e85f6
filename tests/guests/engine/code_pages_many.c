/* Code on ever new pages, as of a compiler that moves what it has compiled: more of them than could have translations at
 * a time, and most are gone.  Some were written after they had run. */
// modes: default memcheck
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, AT_ONCE = 512, TIMES = 300 };

/* mov $n, %eax; ret */
static void put(unsigned char *at, int n) {
    at[0] = 0xb8;
    memcpy(at + 1, &n, sizeof n);
    at[5] = 0xc3;
}

static int call(unsigned char *at) { return ((int (*)(void))(void *)at)(); }

int main(void) {
    long sum = 0;
    for (int i = 0; i < TIMES; i++) {
        unsigned char *wanted = (unsigned char *)(0x080000000000 + (long)i * AT_ONCE * PAGE);
        unsigned char *code = mmap(wanted, AT_ONCE * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (code != wanted) return 1;
        for (int k = 0; k < AT_ONCE; k++) {
            put(code + k * PAGE, i * AT_ONCE + k);
            sum += call(code + k * PAGE);
        }
        for (int k = 0; k < AT_ONCE; k += 16) {
            put(code + k * PAGE, k);
            sum += call(code + k * PAGE);
        }
        munmap(code, AT_ONCE * PAGE);
    }
    printf("%ld\n", sum);
    return 0;
}

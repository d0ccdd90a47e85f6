/* Spaces at the addresses that SBCL's core files are saved for, asked for without
 * MAP_FIXED and used for data and code: SBCL starts only where it gets these. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const struct {
    const char *name;
    uintptr_t at;
    size_t size;
} spaces[] = {
    {"static", 0x50000000, 0x100000},
    {"fixed objects", 0x50100000, 0x2900000},
    {"code", 0x52a00000, 0x8200000},
    {"dynamic", 0x1000000000, 0x40000000},
};

int main(void) {
    static const unsigned char twice[] = {0x48, 0x8d, 0x04, 0x3f, 0xc3}; /* lea (%rdi,%rdi), %rax; ret */
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        char *p = mmap((void *)spaces[i].at, spaces[i].size, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        printf("%s: %s", spaces[i].name, p == (char *)spaces[i].at ? "there" : "elsewhere");
        if (p != (char *)spaces[i].at)
            return 1;
        char *code = p + spaces[i].size - 4096;
        memcpy(code, twice, sizeof twice);
        memcpy(p, &code, sizeof code);
        printf(", %ld\n", (*(long (**)(long))(void *)p)(21 + (long)i));
    }
    return 0;
}

// Linked where Debian links Wine's loader; code beside it, and the page that Windows shares with its programs
// flags: -no-pie -Wl,-Ttext-segment=0x7d000000
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static char *map(uintptr_t at, size_t size, int prot) {
    return mmap((void *)at, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

int main(void) {
    static const unsigned char twice[] = {0x48, 0x8d, 0x04, 0x3f, 0xc3}; /* lea (%rdi,%rdi), %rax; ret */
    char *code = map(0x7d400000, 0x800000, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (code != (char *)0x7d400000) return 1;
    code += 0x800000 - 4096;
    memcpy(code, twice, sizeof twice);
    printf("loader at %lx, twice 21 is %ld\n", (unsigned long)main >> 20, (*(long (**)(long))(void *)&code)(21));
    char *shared = map(0x7ffe0000, 4096, PROT_READ | PROT_WRITE);
    if (shared != (char *)0x7ffe0000) return 2;
    strcpy(shared, "shared");
    printf("%s\n", shared);
    return munmap(shared, 4096);
}

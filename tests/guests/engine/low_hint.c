/* Hints below the lowest address that a program may have are raised to it, as by the kernel; what is taken is passed over. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

static void *ask(unsigned long hint) {
    return mmap((void *)hint, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void) {
    char *low = ask(0x1000), *again = ask(0x1001), *none = ask(0), *part = ask(0xfff);
    low[65535] = 1;
    printf("%p %d %d %d\n", low, (unsigned long)again > 1ul << 28, (unsigned long)none > 1ul << 28, (unsigned long)part > 1ul << 28);
    munmap(low, 65536);
    printf("%p\n", ask(0x8fff));
    return 0;
}

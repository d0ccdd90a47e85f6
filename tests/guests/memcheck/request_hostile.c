/* Requests about V and A bits whose ranges begin at 0, cannot be accessed, or wrap around the address space. */
#include <stdio.h>
#include <sys/mman.h>
#include <valgrind/memcheck.h>

#define PAGE ((unsigned char *)0x30000000)
#define NONE (PAGE + 0x10000)
#define GONE (PAGE + 0x20000)
static char bits[4096];

static void check(const void *addr, unsigned long len) {
    printf("addressable %#lx\n", (unsigned long)VALGRIND_CHECK_MEM_IS_ADDRESSABLE(addr, len));
    printf("defined %#lx\n", (unsigned long)VALGRIND_CHECK_MEM_IS_DEFINED(addr, len));
}

static void vbits(void *addr, unsigned long len) {
    printf("get %d %d\n", (int)VALGRIND_GET_VBITS(addr, bits, len), (int)VALGRIND_GET_VBITS(PAGE, addr, len));
    printf("set %d %d\n", (int)VALGRIND_SET_VBITS(addr, bits, len), (int)VALGRIND_SET_VBITS(PAGE, addr, len));
}

int main(void) {
    mmap(PAGE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mmap(NONE, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    void *const where[] = {0, (void *)8, PAGE, PAGE + 4090, NONE, GONE, (void *)-1, (void *)-8, (void *)(1ul << 47)};
    const unsigned long lengths[] = {0, 1, 8, 7000, -1ul, -8ul, -(unsigned long)PAGE, 1ul << 40};
    for (unsigned i = 0; i < sizeof where / sizeof *where; i++)
        for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            printf("%u %u\n", i, k);
            check(where[i], lengths[k]);
            vbits(where[i], lengths[k]);
        }
    VALGRIND_MAKE_MEM_UNDEFINED(PAGE + 1, 3);
    VALGRIND_MAKE_MEM_NOACCESS(PAGE + 4, 8);
    check(PAGE, -1ul);
    check(PAGE, 1ul << 40);
    printf("if addressable %d\n", (int)VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(PAGE, 100));
    check(PAGE, 8);
    VALGRIND_MAKE_MEM_UNDEFINED(PAGE + 20, 8);
    printf("if addressable %d\n", (int)VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(PAGE, 8192));
    check(PAGE + 12, 4096 - 12);
    printf("no access %d\n", (int)VALGRIND_MAKE_MEM_NOACCESS(PAGE + 4000, 0x40000));
    check(PAGE + 12, 4096 - 12);
    return 0;
}

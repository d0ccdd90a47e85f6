/* Blocks in memory that the program cannot read: what points there is no pointer, whatever it is.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <malloc.h>
#include <sys/mman.h>
#include <valgrind/memcheck.h>

static char *closed, *executable, *half, *gone, *nowhere, *in_half;

int main(void) {
    char *mapping = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    closed = memalign(4096, 4096);
    executable = memalign(4096, 4097);
    half = memalign(4096, 8192);
    in_half = (char *)memalign(4096, 8193) + 5000;
    gone = mapping + 4096;
    nowhere = (char *)8;
    VALGRIND_MALLOCLIKE_BLOCK(gone, 100, 0, 1);
    VALGRIND_MALLOCLIKE_BLOCK(nowhere, 4, 0, 1);
    VALGRIND_DO_LEAK_CHECK;
    mprotect(closed, 4096, PROT_NONE);
    mprotect(executable, 4096, PROT_EXEC);
    mprotect(half + 4096, 4096, PROT_NONE);
    mprotect(in_half - 5000 + 4096, 4096, PROT_NONE);
    munmap(mapping, 16384);
    VALGRIND_DO_LEAK_CHECK;
    mprotect(closed, 4096, PROT_READ);
    mprotect(executable, 4096, PROT_WRITE);
    return 0;
}

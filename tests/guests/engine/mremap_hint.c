/* mremap that leaves its range mapped takes the new address for a hint: a free one is used, one in use is not, one that
   overlaps what moves, or is no page's, is an error. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096ul
#define STAYS (MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */)

static char *map(unsigned long pages) {
    return mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void wrong(const char *what, char *old, char *hint) {
    char *at = mremap(old, 2 * PAGE, 2 * PAGE, STAYS, hint);
    printf("%s: %s\n", what, at == MAP_FAILED ? strerror(errno) : "moved");
}

int main(void) {
    char *old = map(2), *wanted = map(64);
    strcpy(old, "moved");
    munmap(wanted, 64 * PAGE);
    char *at = mremap(old, 2 * PAGE, 2 * PAGE, STAYS, wanted);
    printf("free: %d %s %d\n", at == wanted, at, old[0]);
    char *used = map(4);
    strcpy(used, "used");
    strcpy(old, "again");
    at = mremap(old, 2 * PAGE, 2 * PAGE, STAYS, used);
    printf("in use: %d %s %s\n", at == used, at, used);
    wrong("overlap", old, old + PAGE);
    wrong("odd", old, used + 1);
    wrong("beyond the end", old, (char *)(-2 * PAGE));
    at = mremap(old, 2 * PAGE, 2 * PAGE, STAYS, NULL);
    printf("none: %d\n", at != MAP_FAILED);
    return 0;
}

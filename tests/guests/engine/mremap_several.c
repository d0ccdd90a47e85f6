/* mremap of what several mappings have: Linux 6.17 moves them with the gaps between them if no size changes, and answers
   EFAULT to the rest; before, to all. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

#define PAGE 4096ul
#define RW   (PROT_READ | PROT_WRITE)

static char *map(unsigned long pages, int prot) {
    return mmap(0, pages * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void tell(const char *what, void *at, void *wanted) {
    printf("%s: %s\n", what, at == MAP_FAILED ? strerror(errno) : at == wanted ? "there" : "elsewhere");
}

static void is_mapped(const char *what, char *at, unsigned long pages) {
    printf("%s:", what);
    for (unsigned long i = 0; i < pages; i++) printf(" %d", msync(at + i * PAGE, PAGE, MS_ASYNC) == 0);
    printf("\n");
}

int main(void) {
    printf("begin\n"); /* its buffer is not to come where something has just left */
    char *to = map(32, PROT_NONE), *from = map(16, RW);
    memset(from, 5, 16 * PAGE);
    mprotect(from + PAGE, PAGE, PROT_READ);
    mprotect(from + 3 * PAGE, PAGE, PROT_NONE);
    char *at = mremap(from, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    tell("three kinds", at, to);
    is_mapped("from", from, 9);
    if (at == to) {
        printf("%d %d %d\n", to[0], to[PAGE], to[7 * PAGE]);
        to[2 * PAGE] = 6;
        tell("back", mremap(to, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, from), from);
    }
    from[0] = 7;
    printf("%d %d %d\n", from[0], from[PAGE], from[2 * PAGE]);

    munmap(from + 9 * PAGE, PAGE);
    at = mremap(from + 8 * PAGE, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + 8 * PAGE);
    tell("with a gap", at, to + 8 * PAGE);
    is_mapped("from", from + 8 * PAGE, 5);
    is_mapped("to", to + 8 * PAGE, 5);
    if (at == to + 8 * PAGE) printf("%d %d\n", at[0], at[2 * PAGE]);
    munmap(from + 8 * PAGE, PAGE);
    tell("a gap first", mremap(from + 8 * PAGE, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + 16 * PAGE), to);

    tell("larger", mremap(from, 4 * PAGE, 5 * PAGE, MREMAP_MAYMOVE), from);
    tell("larger to a place", mremap(from, 4 * PAGE, 5 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + 24 * PAGE), to);
    tell("as it is", mremap(from, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE), from);
    tell("as it is, not to move", mremap(from, 4 * PAGE, 4 * PAGE, 0), from);
    tell("overlapping", mremap(from, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, from + 2 * PAGE), from);
    char *gone = from + 8 * PAGE; /* of two things that are wrong it says which it sees first */
    tell("overlapping, not there", mremap(gone, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, gone + 2 * PAGE), gone);
    tell("not there, to no page", mremap(gone, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + 1), to);
    tell("not there, leaving it", mremap(gone, PAGE, PAGE, MREMAP_MAYMOVE | 4, gone), gone);
    at = mremap(from, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED | 4 /* MREMAP_DONTUNMAP */, to + 24 * PAGE);
    tell("leaving the range", at, to + 24 * PAGE);
    if (at == to + 24 * PAGE) printf("%d %d %d\n", at[0], at[PAGE], from[0]);

    /* What finds room in a way of its own goes alone. */
    int id = shmget(IPC_PRIVATE, 2 * PAGE, 0600);
    at = map(8, RW);
    if (shmat(id, at + 2 * PAGE, SHM_REMAP) == (void *)-1) return 1;
    shmctl(id, IPC_RMID, 0);
    to = map(8, PROT_NONE);
    tell("shared, then not", mremap(at + 3 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to), to);
    is_mapped("from", at, 8);
    tell("not, then shared", mremap(at + PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + 2 * PAGE), to);
    is_mapped("from", at, 8);
    tell("shared", mremap(at + 3 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + 5 * PAGE), to + 5 * PAGE);
    is_mapped("from", at, 8);
    return 0;
}

/* Calls over memory that mseal (Linux 6.10) has sealed in part: mprotect changes what comes before, and code there can be
   written from then on; nothing else changes. */
#include "code.h"
#include <errno.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#define PAGE 4096

static void seal(uint8_t *at, size_t n) { printf("seal %ld\n", syscall(462, at, n, 0)); }

static void tell(const char *what, int failed) { printf("%s: %s\n", what, failed ? strerror(errno) : "done"); }

/* What is mapped there; the neighbours are without access. */
static void list(const uint8_t *from, const uint8_t *to) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512], rights[5];
    unsigned long lo, hi;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx %4s", &lo, &hi, rights) == 3 && lo >= (unsigned long)from && hi <= (unsigned long)to)
            printf("  %lu %lu %s\n", (lo - (unsigned long)from) / PAGE, (hi - (unsigned long)from) / PAGE, rights);
    fclose(f);
}

int main(void) {
    uint8_t *fence = map(6 * PAGE, PROT_NONE), *p = fence + PAGE, *end = p + 4 * PAGE;
    mprotect(p, 4 * PAGE, RW);
    for (int i = 0; i < 4; i++) put(p + i * PAGE, i + 1);
    mprotect(p, 4 * PAGE, PROT_READ | PROT_EXEC);
    printf("%d %d %d\n", ((fn)p)(), ((fn)(p + PAGE))(), ((fn)(p + 2 * PAGE))());
    seal(p + PAGE, PAGE);
    list(p, end);

    tell("mprotect", mprotect(p, 3 * PAGE, RWX));
    list(p, end);
    put(p, 11);
    printf("written %d, sealed %d\n", ((fn)p)(), ((fn)(p + PAGE))());
    tell("munmap", munmap(p, 3 * PAGE));
    list(p, end);

    uint8_t *to = map(PAGE, RWX);
    put(to, 5);
    printf("%d\n", ((fn)to)());
    tell("mremap to a place", mremap(p + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED);
    printf("still %d\n", ((fn)to)());
    tell("mremap as it is", mremap(p + PAGE, PAGE, PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
    seal(p, 3 * PAGE);
    list(p, end);

    int id = shmget(IPC_PRIVATE, 3 * PAGE, 0600);
    uint8_t *shared = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    seal(shared + PAGE, PAGE);
    tell("shmdt", shmdt(shared));
    for (int i = 0; i < 3; i++) printf("%d", msync(shared + i * PAGE, PAGE, MS_ASYNC) == 0);
    printf("\n");
    return 0;
}

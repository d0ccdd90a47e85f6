// personality(READ_IMPLIES_EXEC): what is mapped or made readable from then on can be executed
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <unistd.h>

static const unsigned char code[] = {0xb8, 7, 0, 0, 0, 0xc3}; /* mov eax, 7; ret */

static void show(const char *what, char *p) {
    char line[512], flags[8] = "none";
    unsigned long lo, hi, at = (unsigned long)p;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx %7s", &lo, &hi, flags) == 3 && at >= lo && at < hi) break;
    fclose(f);
    printf("%s %s\n", what, flags);
}

static void run(const char *what, char *p) {
    show(what, p);
    memcpy(p, code, sizeof code);
    printf("returned %d\n", ((int (*)(void))p)());
}

static char *map(int prot) { return mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

int main(void) {
    char *before = map(PROT_READ | PROT_WRITE);
    printf("was %x\n", personality(READ_IMPLIES_EXEC));
    printf("is %x\n", personality(0xffffffff));
    run("mapped", map(PROT_READ | PROT_WRITE));
    show("without access", map(PROT_NONE));
    show("mapped before", before);
    mprotect(before, 4096, PROT_READ | PROT_WRITE);
    run("protected", before);
    char *grown = sbrk(0);
    grown = (char *)(((unsigned long)grown + 4095) & ~4095ul);
    if (brk(grown + 4096) == 0) run("break", grown);
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    run("shared memory", shmat(id, NULL, 0));
    shmctl(id, IPC_RMID, NULL);
    personality(0);
    show("after", map(PROT_READ | PROT_WRITE));
    return 0;
}

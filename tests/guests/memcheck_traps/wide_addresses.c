/* mov between the accumulator and an address of 64 bits in the instruction (-mcmodel=large).  The V bits moved are those
 * of that address, not of the one that its low half is. */
/* @options: --track-origins=no */
/* @expect: Conditional jump or move depends on uninitialised value(s) at loaded */
/* @expect: Conditional jump or move depends on uninitialised value(s) at stored */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define WIDE 0x2000100000
#define LOW 0x100000
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

static volatile int *const wide = (volatile int *)WIDE, *const low = (volatile int *)LOW;

#define SAY(v)                                                                                                         \
    if ((v) == 42) puts("42")

static __attribute__((noinline)) void loaded(void) {
    int v;
    __asm__ volatile("movabs " TEXT(WIDE) "+16, %%eax" : "=a"(v)::"memory");
    SAY(v);
}

static __attribute__((noinline)) void stored(int undefined) {
    __asm__ volatile("movabs %%eax, " TEXT(WIDE) "+32" ::"a"(undefined) : "memory");
    SAY(low[8]);
    SAY(wide[8]);
}

/* Over a register that is undefined, with flags that somebody reads afterwards. */
static __attribute__((noinline)) void loaded_defined(int undefined) {
    int v = undefined;
    __asm__ volatile("movabs " TEXT(WIDE) "+48, %%eax\n\tpushfq\n\tpopfq" : "+a"(v)::"memory", "cc");
    SAY(v);
}

int main(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, prot = PROT_READ | PROT_WRITE;
    if (mmap((void *)WIDE, 4096, prot, flags, -1, 0) != (void *)WIDE ||
        mmap((void *)LOW, 4096, prot, flags, -1, 0) != (void *)LOW)
        return 77;
    volatile int *p = malloc(sizeof *p);
    wide[4] = *p;
    loaded();
    stored(*p);
    low[12] = *p;
    loaded_defined(*p);
    free((void *)p);
    return 0;
}

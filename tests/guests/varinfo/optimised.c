/* Variables of optimised C: in location lists, relative to changing registers, of inlined calls, or nowhere. */
#include "look.h"
#include <alloca.h>

struct s {
    int x[4];
    struct s *n;
};
static struct s gs[3];

static inline __attribute__((always_inline)) int inlined(int seed) {
    int within[5];
    within[seed & 3] = seed;
    LOOK(&within[2]); // within[2] @12 #1 (valgrind: no inlined calls)
    return within[1];
}

__attribute__((noinline)) static int many(int n, struct s byval, int m) {
    volatile int kept = n;
    struct s l[2];
    char vla[m];
    int gone = n * 3;
    /* Optimised code keeps its length nowhere. */
    LOOK(vla + 3);          // ~^(vla.3. @21 #1)?$ (valgrind: no length)
    LOOK(&l[1].n);          // l[1].n @20 #1
    LOOK(&byval.x[2]);      // byval.x[2] @18 #1
    LOOK((void *)&kept);    // local var "kept" @19 #1
    {
        int block[3];
        LOOK(&block[1]);    // block[1] @29 #1
    }
    int r = inlined(n);
    LOOK(&gs[1].x[3]);      // gs[1].x[3] @9
    return gone + r + kept + l[0].x[0] + vla[2];
}

__attribute__((noinline)) static int recursive(int depth) {
    int array[4];
    array[depth & 3] = depth;
    if (depth) {
        int r = recursive(depth - 1);
        return r + array[0];
    }
    LOOK(&array[1]);        // array[1] @38 #1
    return array[2];
}

__attribute__((noinline)) static int *passed(int *p) {
    LOOK(p);                // ~(local var "of_outer" @55 #2|others.3. @56 #2)
    __asm__ volatile("");
    return p;
}

__attribute__((noinline)) static int outer(int x) {
    int of_outer = x;
    int others[6];
    passed(&of_outer);
    passed(&others[3]);
    int *taken = alloca(x * 4 + 16);
    LOOK(taken + 1);        // -
    return of_outer + others[1];
}

int main(int argc, char **argv) {
    struct s st = {{1, 2, 3, 4}, 0};
    LOOK(&st.x[1]);         // st.x[1] @65 #1
    return (many(argc, st, argc + 9) + recursive(3) + outer(argc + 4)) * 0;
}

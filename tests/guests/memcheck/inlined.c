/* Inlined calls are frames, three deep, twice in one function, with arguments.  @build: -O2 */
#include <stdlib.h>

static inline __attribute__((always_inline)) int third(const int *p) {
    if (p[0] == 77)
        return 1;
    return p[1];
}
static inline __attribute__((always_inline)) int second(const int *p) { return third(p + 1) + 1; }
static inline __attribute__((always_inline)) int first(const int *p) {
    return second(p) + 2;
}

int main(void) {
    int *volatile p = malloc(8);
    volatile int sum = first(p);
    sum += second(p - 1);
    free(p);
    sum += first(p);
    return 0;
}

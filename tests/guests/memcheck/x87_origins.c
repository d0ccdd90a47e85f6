/* Where undefined long doubles come from, after the x87 unit has carried them.
 * @options: --track-origins=yes */
#include <stdlib.h>
#include <valgrind/memcheck.h>

static int reached;

__attribute__((noinline)) static void compared(const long double *p) {
    if (*p > 1.0L)
        reached++;
}

__attribute__((noinline)) static void from_stack(void) {
    long double here[2], sum;
    sum = here[0] + 1;
    compared(&sum);
}

__attribute__((noinline)) static long double doubled(const long double *p) { return *p * 2; }

int main(void) {
    long double *heap = malloc(sizeof *heap), *client = calloc(1, sizeof *client), copy;
    copy = doubled(heap);
    compared(&copy);
    from_stack();
    VALGRIND_MAKE_MEM_UNDEFINED(client, sizeof *client);
    copy = doubled(client);
    compared(&copy);
    unsigned short word;
    __asm__ volatile("fldt %1; fld1; fcompp; fnstsw %0" : "=a"(word) : "m"(*heap));
    if (word & 0x100)
        reached++;
    free(heap);
    free(client);
    return reached == 100;
}

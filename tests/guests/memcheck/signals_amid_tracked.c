/* A timer's signals come while V bits are computed, and between that and the instruction: they are computed once, for a
 * shift would shift them twice.  @build: -mno-red-zone */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "valgrind/memcheck.h"

static volatile sig_atomic_t signals;
static void handler(int sig) {
    (void)sig;
    signals++;
}

typedef unsigned long u64;
static u64 one(u64 x) {
    u64 flags;
    /* Flags are read, so C computes; then nobody reads them. */
    __asm__ volatile(".rept 10\n\tshl $1, %0\n\tpushf\n\tpop %1\n\trol $1, %0\n\tpushf\n\tpop %1\n\t.endr\n\t"
                     ".rept 20\n\tshl $1, %0\n\t.endr"
                     : "+r"(x), "=&r"(flags)
                     :
                     : "cc");
    return x;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    long wrong = 0;
    while (signals < 1000) {
        u64 x = 1, bit = 1, found = 0;
        (void)VALGRIND_SET_VBITS(&x, &bit, sizeof x);
        x = one(x);
        (void)VALGRIND_GET_VBITS(&x, &found, sizeof x);
        wrong += found != 1ul << 40;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%s\n", wrong ? "computed twice" : "computed once");
    return 0;
}

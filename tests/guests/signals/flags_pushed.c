/* Signals that come between a load and the pushf behind it: what is pushed holds no trap flag, and no other flag than
 * natively. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>

#define ROUNDS 1500000
#define WANTED 400
static volatile int signals;

static void on_alarm(int sig) { signals += sig == SIGALRM; }

int main(void) {
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, on_alarm);
    uint64_t cell[4] = {1, 2, 3, 4}, bad = 0, sum = 0;
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < ROUNDS && signals < WANTED; i++) {
        uint64_t flags, again;
        /* The flags are live over the loads, so that what is added must do without them. */
        __asm__ volatile("lea -128(%%rsp), %%rsp\n cmp %%eax, %%eax\n mov (%2), %%rdx\n mov 8(%2), %%rcx\n pushfq\n"
                         "mov 16(%2), %%rdx\n pushfq\n pop %0\n pop %1\n lea 128(%%rsp), %%rsp"
                         : "=&r"(flags), "=&r"(again) : "r"(cell) : "rcx", "rdx", "cc", "memory");
        bad += flags != 0x246 || again != 0x246;
        sum += cell[i & 3];
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d %d\n", (int)bad, sum != 0);
    return 0;
}

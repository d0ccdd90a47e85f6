/* Calls, jumps and returns by pointers with a tag in their uppermost bits, to code that has run before: each faults.
 * The handlers do not ask for the context, and one returns: the fault is met once more. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int reached, rounds;

__attribute__((noinline)) static void target(void) { reached++; }

static void handler(int sig) {
    if (rounds && --rounds) return;
    siglongjmp(back, sig);
}

#define FAULTS(go) (sigsetjmp(back, 1) ? 1 : ((go), 0))

int main(void) {
    struct sigaction act = {.sa_handler = handler};
    sigaction(SIGSEGV, &act, NULL);
    for (int i = 0; i < 4; i++) target();
    for (uint64_t tag = 1; tag < 16; tag++) {
        uint64_t to = (uint64_t)target | tag << 60;
        int call = FAULTS(((void (*)(void))to)());
        int jump = FAULTS(({ __asm__ volatile("jmp *%0" : : "r"(to) : "memory"); }));
        int ret = FAULTS(({ __asm__ volatile("push %0\n\tret" : : "r"(to) : "memory"); }));
        rounds = 3;
        int again = FAULTS(((void (*)(void))to)());
        printf("%x: %d %d %d %d, %d left, reached %d\n", (unsigned)tag, call, jump, ret, again, rounds, reached);
    }
    fflush(stdout);
    act.sa_handler = (void (*)(int))((uint64_t)handler | 1ull << 62);
    sigaction(SIGUSR1, &act, NULL);
    printf("handler %d, reached %d\n", FAULTS(raise(SIGUSR1)), reached);
    return 0;
}

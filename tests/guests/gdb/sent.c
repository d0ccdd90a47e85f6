/* Signals that gdb sends where the program has stopped for another reason. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

volatile sig_atomic_t came;
volatile int turns;

static void handler(int number) { came = number; }

__attribute__((noinline)) void here(void) { turns++; }

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    signal(SIGUSR1, handler);
    signal(SIGUSR2, SIG_IGN);
    here();
    printf("came %d\n", (int)came);
    came = 0;
    here();
    printf("came %d\n", (int)came);
    here();
    pause();
    return 3;
}

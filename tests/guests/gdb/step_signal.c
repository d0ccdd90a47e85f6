#include <signal.h>
volatile int seen;
void handler(int s) { seen++; }
int main(void) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    return seen == 1 ? 0 : 1;
}

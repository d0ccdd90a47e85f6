#include <signal.h>
volatile int traps;
void handler(int s) { traps++; }
int main(void) {
    signal(SIGTRAP, handler);
    __asm__ volatile("int3");
    return traps;
}

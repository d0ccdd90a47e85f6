// signal: SIGSEGV
#include <stdio.h>
int main(void) {
    puts("before");
    fflush(stdout);
    *(volatile int *)8 = 1;
    return 0;
}

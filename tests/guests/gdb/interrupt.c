#include <stdio.h>
#include <unistd.h>
#include <time.h>
volatile int go;
volatile unsigned long turns;
int main(void) {
    while (!go)
        if (++turns == 1000000) puts("computes"), fflush(stdout);
    puts("sleeps"); fflush(stdout);
    struct timespec t = {2, 0};
    while (go < 2) nanosleep(&t, NULL);
    puts("woken");
    return 0;
}

#include <stdio.h>
#include <unistd.h>
volatile int go;
int step(int n) { return n + 1; }
int main(void) {
    int n = 0;
    while (!go) { n = step(n); usleep(1000); }
    printf("detached\n");
    return 3;
}

#include <sys/wait.h>
#include <unistd.h>
volatile int sum;
void hit(int n) { sum += n; }
void begin(void) {}
int main(void) {
    int child = !fork() || !fork();
    begin();
    for (int i = 0; i < 25; i++) hit(i);
    if (child) _exit(0);
    while (wait(0) > 0) {}
    return sum == 300 ? 0 : 1;
}

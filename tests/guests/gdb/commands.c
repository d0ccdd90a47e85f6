#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int total;
int inner(int n) { total += n; return n * 2; }
int outer(int n) { int r = inner(n); return r + 1; }
int alpha_one(void) { return 1; }
int alpha_two(void) { return 2; }
void handler(int s) { total += 100; }
int main(void) {
    signal(SIGUSR1, handler);
    int a = outer(1);
    for (int i = 0; i < 3; i++) total += i;
    a += outer(2);
    a += alpha_one() + alpha_two();
    raise(SIGUSR1);
    a += 5;
    total += a;
    return total > 0 ? 3 : 4;
}

/* Loops whose blocks follow one another in different ways, functions that jump to others, marks in between. */
#include <interpose/datagrind.h>

#define N 20000
int numbers[N], odd, small;
static volatile int sink;

__attribute__((noinline)) static void walk(void) {
    for (int i = 0; i < N; i++) {
        if (numbers[i] & 1) odd++;
        if (numbers[i] % 7 < 3) small++;
    }
}

__attribute__((noinline)) void last(int n) { sink = n; }
__attribute__((noinline)) void tail(int n) {
    if (n & 1) sink++;
    last(n); /* a jump */
}

int main(void) {
    for (int i = 0; i < N; i++) numbers[i] = i;
    DATAGRIND_START_EVENT("walk");
    walk();
    DATAGRIND_END_EVENT("walk");
    for (int i = 0; i < N; i++) {
        if (i == N / 2) DATAGRIND_START_EVENT("half");
        numbers[i] = 0;
    }
    for (int i = 0; i < 5000; i++) tail(i);
    return 0;
}

#include <stdio.h>
__thread int own = 4;
int f(int n) { return n + own; }
int main(void) { printf("%d\n", f(3)); return 0; }

#include <stdio.h>
int level = 42;
int stop(int n) { return n + level; }
int main(void) { return stop(1) - 43; }

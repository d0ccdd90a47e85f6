#include <stdlib.h>
int f(void) { return 0; }
int main(void) { f(); return 0; }

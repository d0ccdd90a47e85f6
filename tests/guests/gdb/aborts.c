#include <stdlib.h>
void fail(void) { abort(); }
int main(void) { fail(); return 0; }

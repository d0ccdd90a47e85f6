#include <stdlib.h>
int f(void) { return 0; }
int main(int argc, char **argv) { setenv("OWN", "value", 1); f(); return argc - 1; }

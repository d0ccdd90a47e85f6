/* A library that is closed before the report. */
#include <stdlib.h>

char *make_block(int size) { return malloc(size); }
int look_at(char *p) { return p[2] ? 1 : p[7]; }

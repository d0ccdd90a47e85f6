// A library whose function's name is given: two of them lie alike, and follow each other (datagrind/libraries.c).
__attribute__((noinline)) void NAME(volatile int *where) { *where = 1; }
void mark(volatile int *where) { NAME(where); }

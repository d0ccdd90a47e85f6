// One of the libraries of libraries.c.
void mark(volatile int *where) { *where = 1; }

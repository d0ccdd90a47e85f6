/* The header under test; every guest is built once with each. */
#ifdef OURS
#include <interpose/interpose.h>
#else
#include <valgrind/valgrind.h>
#endif
#include <stdio.h>
#define NOINLINE __attribute__((noinline, noclone, noipa))

// Inlined into profiled.c, so that a function has code of two files.
static inline __attribute__((always_inline)) int square(int n)
{
  return n * n;
}

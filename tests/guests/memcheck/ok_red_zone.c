/* No error: a leaf function keeps its variables below the stack pointer.
 * @build: -O1 */
static long __attribute__((noinline)) leaf(long a, long b) {
    volatile long v[8];
    v[0] = a;
    v[3] = b;
    v[7] = a + b;
    return v[0] * v[3] - v[7];
}

int main(void) {
    long s = 0;
    for (long i = 0; i < 100; i++)
        s += leaf(i, i + 1) > 0;
    return s != 98;
}

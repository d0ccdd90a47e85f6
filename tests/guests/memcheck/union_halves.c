/* A union written through one member and read through another: what overlaps is defined, the rest is not. */
union value {
    char c[8];
    int i;
    long l;
    float f;
    struct {
        unsigned low : 4, high : 12;
    } bits;
};

int main(void) {
    union value v;
    volatile int sum = 0;
    v.i = 5;
    if (v.l == 5) /* the upper half is undefined */
        sum++;
    if ((int)v.l == 5)
        sum++;
    if (v.c[3])
        sum++;
    if (v.c[4]) /* undefined */
        sum++;
    union value w;
    w.bits.low = 3;
    if (w.bits.low == 3)
        sum++;
    if (w.bits.high == 3) /* undefined */
        sum++;
    union value x;
    x.c[0] = 1, x.c[1] = 0, x.c[2] = 0;
    if (x.f > 1.0f) /* its last byte is undefined */
        sum++;
    if ((x.i & 0xffffff) == 1)
        sum++;
    return 0;
}

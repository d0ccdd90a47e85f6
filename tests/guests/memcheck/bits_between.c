/* Bit fields beside each other, masks, shifts and rotations: only the bits that are undefined count. */
struct fields {
    unsigned a : 3, b : 7, c : 1, d : 21;
};

int main(void) {
    struct fields f;
    unsigned x, y;
    volatile int sum = 0;
    f.b = 9;
    if (f.b == 9)
        sum++;
    if (f.c) /* undefined */
        sum++;
    f.c = 1;
    if (f.c)
        sum++;
    if (f.a == 2) /* undefined */
        sum++;
    x = (x & 0xf0) | 0x5;
    if ((x & 0xf) == 5)
        sum++;
    if (x > 0xff)
        sum++;
    if (x & 0x10) /* undefined */
        sum++;
    y = x << 28;
    if (y == 0x50000000u)
        sum++;
    y = (x >> 4) | (x << 28);
    if (y >> 28 == 5)
        sum++;
    if (y & 1) /* undefined */
        sum++;
    y = x * 16; /* upwards of the lowest undefined bit */
    if (y & 0xf)
        sum++;
    y = x + 1;
    if ((y & 0xf) == 6)
        sum++;
    if (y == 0) /* undefined */
        sum++;
    return 0;
}

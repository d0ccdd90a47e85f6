/* Additions and comparisons exact to the bit.
 * @options: --expensive-definedness-checks=yes */
int main(void) {
    unsigned x, y;
    volatile int sum = 0;
    x = (x & 0xff00) | 3;
    y = x + 4;
    if ((y & 0xff) == 7)
        sum++;
    if (x == 4) /* its low byte is 3 */
        sum++;
    if ((x | 1) > 0xffff)
        sum++;
    if (x == 0x103) /* undefined */
        sum++;
    return 0;
}

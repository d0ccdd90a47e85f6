/* Frames greater than --max-stackframe are told as switches of stacks, whose values stay.
 * @options: --leak-check=no --max-stackframe=2000000 */
static int frame(int n) {
    volatile char a[3000000];
    a[0] = n;
    a[1500000] = 0;
    a[2999999] = 1;
    return a[0] + a[2999999];
}

static int reuse(void) {
    volatile char a[3000000];
    return a[1500000];
}

int main(void) {
    int sum = frame(1) + frame(2);
    if (reuse())
        sum++;
    return sum > 6;
}

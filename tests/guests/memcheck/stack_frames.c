/* Great frames: with a --max-stackframe that is greater they are no switches of stacks, and what they leave
 * behind is undefined.
 * @options: --leak-check=no --max-stackframe=4000000 */
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

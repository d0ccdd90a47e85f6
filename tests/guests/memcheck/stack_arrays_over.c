/* Behind an array on the stack lies the stack: no error, until the frame is gone; a pointer kept to it. */
static int *kept;
static int __attribute__((noinline)) leave(int n) {
    int a[16];
    for (int i = 0; i < 16; i++)
        a[i] = n;
    kept = a;
    return a[n & 15];
}
static int __attribute__((noinline)) deeper(void) {
    volatile char room[4000];
    room[0] = 1;
    return room[0];
}
int main(void) {
    volatile int sum = leave(3);
    sum += deeper();
    if (kept[2] == 3) /* undefined now, whatever it holds */
        sum++;
    return 0;
}

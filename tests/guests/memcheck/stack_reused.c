/* A frame takes over the stack of one that returned: what that left there counts as undefined. */
static void __attribute__((noinline)) fill(void) {
    volatile int a[64];
    for (int i = 0; i < 64; i++)
        a[i] = 7;
}

static int __attribute__((noinline)) use(void) {
    volatile int a[64];
    return a[32] == 7;
}

int main(void) {
    fill();
    if (use())
        return 0;
    return 0;
}

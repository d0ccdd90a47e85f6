/* A variable is called as if it were a function: its frame has no name, but an object. */
static volatile int table[4] = {1, 2, 3, 4};

static void __attribute__((noinline)) dispatch(const volatile void *target) { ((void (*)(void))target)(); }

int main(void) {
    dispatch(table);
    return 0;
}

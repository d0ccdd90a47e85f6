/* A pointer to a dead frame: invalid reads below the stack pointer. */
static volatile int *keep;

static void __attribute__((noinline)) frame(void) {
    volatile int local[400];
    local[10] = 7;
    keep = &local[10];
}

int main(void) {
    frame();
    return keep[0] == 1 && keep[1] == 1;
}

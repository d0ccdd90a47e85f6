/* What made room on the stack is the function's beginning, as far as a red zone reaches, else what moved RSP.
 * @build: -O1 -fno-builtin
 * @options: --track-origins=yes */
#include <alloca.h>

static volatile int sink;

__attribute__((noinline)) static void use(volatile char *p) {
    if (p[5] == 3) sink++;
}

__attribute__((noinline)) static void small_array(int n) {

    volatile char array[n]; array[1] = 1;
    use(array);
}

__attribute__((noinline)) static void large_array(int n) {

    volatile char array[n]; array[1] = 1;
    use(array);
    use(array + n - 10);
}

__attribute__((noinline)) static void large_alloca(int n) {

    volatile char *array = alloca(n); array[1] = 1;
    use(array);
}

__attribute__((noinline)) static void late_frame(int n) {
    if (n == 3) return;

    volatile char array[600]; array[1] = 1;
    use(array);
    use(array + 590);
}

__attribute__((noinline)) static int copied(int n) {

    volatile char array[n]; array[1] = 1;
    int value = *(volatile int *)&array[8];
    return value;
}

int main(void) {
    small_array(20);
    large_array(400);
    large_alloca(5000);
    late_frame(1);
    if (copied(1000) == 5) sink++;
    return 0;
}

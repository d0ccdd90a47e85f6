/* A function that calls itself forty times, now and then by another one. */
volatile long data = 1; /* Valgrind reads no symbols of a file that maps nothing writable */

__attribute__((noinline)) long step(long n);

__attribute__((noinline)) long by(long n) {
    __asm__ volatile("");
    return step(n) + 1;
}

__attribute__((noinline)) long step(long n) {
    __asm__ volatile("");
    if (!n) return 0;
    return 1 + (n % 4 ? step(n - 1) : by(n - 1));
}

void _start(void) {
    long found = step(40) + step(3);
    __asm__ volatile("syscall" ::"a"(60L), "D"(found != 53) : "rcx", "r11", "memory");
    __builtin_unreachable();
}

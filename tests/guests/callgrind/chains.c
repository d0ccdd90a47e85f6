/* A function of which the callers are told apart, called by one that is called again. */
static volatile int sink;
__attribute__((noinline)) static void leaf(void) { sink++; }
__attribute__((noinline)) static void middle(void) {
    leaf();
    sink++;
}
__attribute__((noinline, used)) static void run(void) {
    for (int i = 0; i < 200; i++) middle();
    __asm__ volatile("syscall" : : "a"(60), "D"(0));
    __builtin_unreachable();
}
__attribute__((naked)) void _start(void) { __asm__("call run"); }

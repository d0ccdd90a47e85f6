/* Built several times, with a NAME and a number of TURNS each. */
static __attribute__((noinline)) void inner(void) { __asm__ volatile("nop; nop"); }
void NAME(void) {
    for (int i = 0; i < TURNS; i++) inner();
}
void entry(void) { NAME(); }

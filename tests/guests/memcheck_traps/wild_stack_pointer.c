/* A stack pointer that was overwritten, as functions that align their stack read it back: no stack has overflowed.
 * @expect: Invalid read of size 8 at back
 */
__attribute__((noinline)) static void back(long kept) {
    asm volatile("mov %0, %%r10; lea -8(%%r10), %%rsp; ret" ::"r"(kept) : "r10", "memory");
}

int main(void) {
    back(0x41414148);
    return 0;
}

/* --ignore-range-below-sp: all bytes of the access must be in the range; and the same instruction elsewhere.
 * @options: --ignore-range-below-sp=300-200 */
static void poke(char *base, int far) {
    __asm__ volatile("sub $0x1000, %%rsp\n"
                     "call 1f\n"
                     "1: add $0x1008, %%rsp\n" /* what is below RSP was stack, and is none now */
                     "mov %%rsp, %%rax\n"
                     "sub %1, %%rax\n"
                     "movq $1, (%%rax)\n"
                     "movb $1, (%%rax)\n"
                     :
                     : "r"(base), "r"((long)far)
                     : "rax", "memory");
}

int main(void) {
    static const int far[] = {250, 200, 207, 208, 300, 301, 304, 203, 206, 199};
    for (int i = 0; i < sizeof far / sizeof *far; i++)
        poke(0, far[i]);
    return 0;
}

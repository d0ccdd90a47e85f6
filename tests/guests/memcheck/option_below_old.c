/* --workaround-gcc296-bugs: where the access begins decides; beside the other option, and its warning.
 * @options: --workaround-gcc296-bugs=yes --ignore-range-below-sp=2008-1990 */
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
    static const int far[] = {130, 1000, 1024, 1025, 1145, 1151, 1152, 1153, 1154, 1160, 1990, 2000, 2008, 2009};
    for (int i = 0; i < sizeof far / sizeof *far; i++)
        poke(0, far[i]);
    return 0;
}

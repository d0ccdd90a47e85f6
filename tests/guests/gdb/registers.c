int check(void) {
    int wrong;
    __asm__ volatile("mov $0x1122334455667788, %%rax\n\t"
                     "mov $3, %%r8d\n\t"
                     "mov $7, %%r15d\n\t"
                     "movq %%rax, %%xmm1\n\t"
                     "fld1\n\t"
                     "fldpi\n\t"
                     "here: xor %%ebx, %%ebx\n\t"
                     "cmp $99, %%r15\n\t"
                     "setne %%bl\n\t"
                     "movq %%xmm2, %%rdx\n\t"
                     "cmp $0x1234, %%rdx\n\t"
                     "jne 1f\n\t"
                     "add $2, %%ebx\n\t"
                     "1: fstp %%st(0)\n\t"
                     "fstp %%st(0)\n\t"
                     "there: mov %%ebx, %0"
                     : "=r"(wrong) : : "rax", "rbx", "rdx", "r8", "r15", "xmm1", "xmm2", "cc");
    return wrong;
}
int main(void) { return check(); }

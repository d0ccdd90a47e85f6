/* No error: inline assembly steps over the red zone of what the compiler takes
 * for leaf functions, uses the stack below, even calls, and comes back. */
static long called;

__attribute__((used, noinline)) static void callee(void) {
    volatile long local[40];
    for (int i = 0; i < 40; i++)
        local[i] = i;
    called += local[39];
}

#define LEAF(name, code, ...)                                                                                          \
    static long __attribute__((noinline)) name(long a) {                                                               \
        volatile long x = a, y = a + 1, z[4] = {1, 2, 3};                                                              \
        __asm__ volatile(code ::: "rax", "cc", "memory", ##__VA_ARGS__);                                               \
        if (x + y + z[2] + z[3] > 20)                                                                                  \
            return 1;                                                                                                  \
        return x;                                                                                                      \
    }

#define MANY "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"
LEAF(flags, "sub $128, %%rsp; pushfq; popq %%rax; add $128, %%rsp")
LEAF(flags_by_lea, "lea -256(%%rsp), %%rsp; pushfq; popq %%rax; lea 256(%%rsp), %%rsp")
LEAF(below_locals, "sub $120, %%rsp; pushfq; popq %%rax; add $120, %%rsp")
LEAF(calls, "sub $128, %%rsp; call callee; add $128, %%rsp", MANY)
LEAF(calls_aligned, "mov %%rsp, %%r14; sub $128, %%rsp; and $-16, %%rsp; call callee; mov %%r14, %%rsp", MANY, "r14")
LEAF(calls_pushing, "sub $136, %%rsp; pushq $1; call callee; add $8, %%rsp; add $136, %%rsp", MANY)
LEAF(by_saved_word, "mov %%rsp, %%rax; sub $200, %%rsp; and $-16, %%rsp; push %%rax; push %%rax; call callee;"
                    "mov 8(%%rsp), %%rsp", MANY)
LEAF(by_frame_pointer, "lea -144(%%rsp), %%rsp; call callee; lea 16(%%rsp), %%rsp; mov %%rbp, %%rsp", MANY)

/* The same where a word that was pushed is popped before the red zone is read. */
#define POPS(name, read)                                                                                               \
    long name(long);                                                                                                   \
    __asm__(#name ": push %rbx; push %rdi; lea 1f(%rip), %rbx; mov %rbx, -32(%rsp); mov %rdi, -24(%rsp);"              \
                  "sub $136, %rsp; call callee; add $136, %rsp; pop %rdi; " read                                       \
                  "1: mov -32(%rsp), %rax; test %rax, %rax; cmovs %rdi, %rax; pop %rbx; ret");
POPS(popped, "")
POPS(popped_by_pointer, "lea -32(%rsp), %rdx; mov (%rdx), %rax; test %rax, %rax; js 1f;")
POPS(popped_and_jumped, "jmp *-40(%rsp);")
POPS(popped_and_branched, "test %rdi, %rdi; js 1f; nop;")

/* A callee that works in the frame of its caller, above its return address. */
long in_callers_frame(long);
__asm__("in_callers_frame: sub $64, %rsp; call 2f; mov (%rsp), %rax; sub 56(%rsp), %rax; add $64, %rsp; ret;"
        "2: add $8, %rsp; mov $8, %ecx; 1: mov %rdi, -8(%rsp,%rcx,8); dec %ecx; jg 1b; sub $8, %rsp; ret");

int main(void) {
    long s = popped(5) + popped_by_pointer(5) + popped_and_jumped(5) + popped_and_branched(5);
    if (s != 20 || in_callers_frame(5))
        return 2;
    for (long i = 0; i < 20; i++)
        s += flags(i) + flags_by_lea(i) + below_locals(i) + calls(i) + calls_aligned(i) + calls_pushing(i) +
             by_saved_word(i) + by_frame_pointer(i);
    return s == 0 || called == 0;
}

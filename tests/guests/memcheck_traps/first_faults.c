/* Wrapped functions whose first instruction faults.
 * @expect: Invalid read of size 2 at reads
 * @expect: Invalid write of size 4 at writes
 * @expect: Invalid read of size 1 at reads_text
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <valgrind/valgrind.h>

static sigjmp_buf back;

long reads(void *), writes(void *), reads_text(void *);
#define CODE(name, insn)                                                                                               \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ": " insn "\n ret\n.size " #name ", .-" #name);      \
    long I_WRAP_SONAME_FNNAME_ZU(NONE, name)(void *p) {                                                                \
        OrigFn fn;                                                                                                     \
        long r;                                                                                                        \
        VALGRIND_GET_ORIG_FN(fn);                                                                                      \
        CALL_FN_W_W(r, fn, p);                                                                                         \
        return r;                                                                                                      \
    }
CODE(reads, "movswl (%rdi), %eax")
CODE(writes, "movl $1, (%rdi)")
CODE(reads_text, "movb (%rdi), %al")

static void handler(int sig, siginfo_t *info, void *context) {
    void *pc = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    printf("signal %d, address %p, at %s\n", sig, info->si_addr,
           pc == reads        ? "reads"
           : pc == writes     ? "writes"
           : pc == reads_text ? "reads_text"
                              : "?");
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    if (!sigsetjmp(back, 1))
        reads((void *)0x10);
    if (!sigsetjmp(back, 1))
        writes((void *)0x20);
    if (!sigsetjmp(back, 1))
        reads_text((void *)0x4847464544434241);
    return 0;
}

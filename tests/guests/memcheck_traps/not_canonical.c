/* Pointers overwritten with text: no address at all, so the fault tells none.
 * @build: -O1 -fno-omit-frame-pointer
 * @expect: Invalid read of size 8 at load
 * @expect: Invalid write of size 4 at store
 * @expect: Invalid read of size 2 at change
 * @expect: Invalid read of size 16 at vector
 * @expect: Invalid read of size 1 at far_end
 * @expect: Invalid write of size 8 at push_there
 * @expect: Invalid read of size 8 at pop_there
 * @expect: Jump to the invalid address stated on the next line at ???
 * @expect: Jump to the invalid address stated on the next line at ???
 * @expect: Jump to the invalid address stated on the next line at ???
 * @expect: Invalid read of size 8 at call_slot
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static sigjmp_buf back;
static char stack[65536];

static void handler(int sig, siginfo_t *info, void *context) {
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    printf("signal %d code %d addr %p trap %lld, byte at pc %02x\n", sig, info->si_code, info->si_addr,
           m->gregs[REG_TRAPNO], *(unsigned char *)m->gregs[REG_RIP]);
    siglongjmp(back, 1);
}

#define CASE __attribute__((noinline)) static void
CASE load(char *p) { __asm__ volatile("mov -8(%0,%1,4), %%rax" ::"r"(p), "r"(2l) : "rax"); }
CASE store(char *p) { __asm__ volatile("movl $1, 64(%0)" ::"r"(p)); }
CASE change(char *p) { __asm__ volatile("incw (%0)" ::"r"(p)); }
CASE vector(char *p) { __asm__ volatile("movups (%0), %%xmm1" ::"r"(p) : "xmm1"); }
CASE far_end(char *p) { __asm__ volatile("movb (%0), %%al" ::"r"(0x7ffffffff100ul + (p == 0)) : "rax"); }
CASE push_there(char *p) { __asm__ volatile("mov %%rsp, %%rbx; mov %0, %%rsp; push %%rax; mov %%rbx, %%rsp" ::"r"(p) : "rbx"); }
CASE pop_there(char *p) { __asm__ volatile("mov %%rsp, %%rbx; mov %0, %%rsp; pop %%rax; mov %%rbx, %%rsp" ::"r"(p) : "rax", "rbx"); }
CASE call(char *p) { __asm__ volatile("sub $256, %%rsp; call *%0; add $256, %%rsp" ::"r"(p)); }
CASE jump(char *p) { __asm__ volatile("jmp *%0" ::"r"(p + 1)); }
CASE ret(char *p) { __asm__ volatile("sub $256, %%rsp; push %0; ret" ::"r"(p + 2)); }
CASE call_slot(char *p) { __asm__ volatile("sub $256, %%rsp; call *(%0); add $256, %%rsp" ::"r"(p)); }

int main(void) {
    static void (*const cases[])(char *) = {load,      store, change, vector, far_end,  push_there,
                                            pop_there, call,  jump,   ret,    call_slot};
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    char *p;
    memcpy(&p, "ABCDEFGH", sizeof p);
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!sigsetjmp(back, 1))
            cases[i](p);
    return 0;
}

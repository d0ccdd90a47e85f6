/* A handler that puts undefined values into its frame: the registers that
 * sigreturn loads from there are undefined, the others and those that it
 * edits with defined ones are not. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <valgrind/memcheck.h>

enum { GPR, XMM, YMM, FLAGS, DEFINED, NONE_OF_IT, STATES };
enum { YMM_HIGH = 576, STATES_USED = 512 };

static long *undefined, values[4];
static int what;

static void edit(int signo, siginfo_t *info, void *context) {
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    char *state = (char *)m->fpregs;
    (void)signo, (void)info;
    switch (what) {
    case GPR: m->gregs[REG_R12] = *undefined; break;
    case XMM: memcpy(&m->fpregs->_xmm[9], undefined, 8); break;
    case YMM: memcpy(state + YMM_HIGH + 16 * 9 + 8, undefined, 8); break;
    case FLAGS: m->gregs[REG_EFL] ^= *undefined & 0x40; break;
    case DEFINED:
        m->gregs[REG_R12] = 5;
        memset(&m->fpregs->_xmm[9], 5, 16);
        break;
    case NONE_OF_IT: /* undefined bytes of a part that the header says is not loaded */
        memcpy(state + YMM_HIGH + 16 * 9 + 8, undefined, 8);
        *(unsigned long *)(state + STATES_USED) &= ~4ul;
        break;
    }
}

/* One letter for each of what R12, the four quarters of YMM9, and ZF are behind the trap. */
static void run(const char *name, long before) {
    char shown[7] = "......", zero;
    long r12;
    values[0] = values[1] = values[2] = values[3] = before;
    __asm__ volatile("mov %3, %%r12\n vmovdqu %2, %%ymm9\n xor %%eax, %%eax\n int3\n"
                     "setz %1\n mov %%r12, %0\n vmovdqu %%ymm9, %2"
                     : "=r"(r12), "=m"(zero), "+m"(values)
                     : "r"(before)
                     : "rax", "r12", "xmm9", "cc", "memory");
    if (VALGRIND_CHECK_VALUE_IS_DEFINED(r12)) shown[0] = 'u';
    for (int i = 0; i < 4; i++)
        if (VALGRIND_CHECK_VALUE_IS_DEFINED(values[i])) shown[1 + i] = 'u';
    if (VALGRIND_CHECK_VALUE_IS_DEFINED(zero)) shown[5] = 'u';
    fprintf(stderr, "%s: %s\n", name, shown);
}

int main(void) {
    static const char *const names[STATES] = {"gpr", "xmm", "ymm", "flags", "defined", "not loaded"};
    struct sigaction action = {.sa_sigaction = edit, .sa_flags = SA_SIGINFO};
    undefined = malloc(sizeof *undefined);
    sigaction(SIGTRAP, &action, NULL);
    VALGRIND_DISABLE_ERROR_REPORTING;
    for (what = 0; what < STATES; what++) run(names[what], 7);
    for (what = 0; what < STATES; what++) run(names[what], *undefined);
    VALGRIND_ENABLE_ERROR_REPORTING;
    free(undefined);
    return 0;
}

/* Runs short pieces of machine code, each from one known state, and prints what each left: the signal with
 * all that the kernel says of it, the registers that changed, the flags.
 *
 *   PROBE("name", "assembly")     at file level, any number of them
 *   int main(void) { return run_probes(); }
 *
 * Everything has a fixed address, so that two runs can be compared.  Each probe runs with the arithmetic
 * flags clear, then with all of them set.
 */
#ifndef PROBES_H
#define PROBES_H

#define _GNU_SOURCE
#include <asm/prctl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define DATA 0x02000000     /* a page that can be written, then nothing   */
#define RO 0x02010000       /* a page that can only be read, then nothing */
#define HOLE 0x02030000     /* nothing                                    */
#define EXIT_SLOT 0x02040000
#define STACK_TOP 0x02080000
#ifndef CODE
#define CODE 0x03000000
#endif
#define CODE_MAX 0x40000
#define NONCANONICAL 0x8000000000000000
#define ARITH 0x8d5

/* Must the probe run once more, for it can have been disturbed? */
#ifndef PROBE_AGAIN
#define PROBE_AGAIN 0
#endif

/* Is there nothing to compare on this CPU? */
#ifndef PROBE_SKIP
#define PROBE_SKIP(name) 0
#endif

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
#define PROBE(name, code)                                                                          \
    __asm__(".pushsection probecode,\"ax\",@progbits\n71:\n" code "\n72:\n.popsection\n"           \
            ".pushsection probename,\"a\",@progbits\n73: .asciz \"" name "\"\n.popsection\n"       \
            ".pushsection probetab,\"aw\",@progbits\n.quad 73b, 71b, 72b\n.popsection\n");

struct probe {
    const char *name;
    const unsigned char *from, *to;
};
extern const struct probe __start_probetab[], __stop_probetab[];

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, RFLAGS, RIP, N_REGS };
uint64_t probe_in[N_REGS], probe_out[N_REGS], probe_sp, probe_fs, probe_x87[3];
static struct {
    int sig, code;
    uint64_t addr, trapno, err, cr2;
} probe_fault;
void enter_probe(void), leave_probe(void), probe_done(void), probe_handler(int, siginfo_t *, void *);

__asm__(".text\n.globl enter_probe, leave_probe, probe_done\n"
        "enter_probe: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, probe_sp(%rip)\n"
        "lea probe_in(%rip), %rax; mov 32(%rax), %rsp; pushq 128(%rax); popfq\n"
        "mov 8(%rax), %rcx; mov 16(%rax), %rdx; mov 24(%rax), %rbx; mov 40(%rax), %rbp\n"
        "mov 48(%rax), %rsi; mov 56(%rax), %rdi; mov 64(%rax), %r8; mov 72(%rax), %r9\n"
        "mov 80(%rax), %r10; mov 88(%rax), %r11; mov 96(%rax), %r12; mov 104(%rax), %r13\n"
        "mov 112(%rax), %r14; mov 120(%rax), %r15; mov (%rax), %rax\n"
        "jmp *probe_in+136(%rip)\n"
        "leave_probe: mov %rax, probe_out(%rip); lea probe_out(%rip), %rax\n"
        "mov %rcx, 8(%rax); mov %rdx, 16(%rax); mov %rbx, 24(%rax); mov %rsp, 32(%rax)\n"
        "mov %rbp, 40(%rax); mov %rsi, 48(%rax); mov %rdi, 56(%rax); mov %r8, 64(%rax)\n"
        "mov %r9, 72(%rax); mov %r10, 80(%rax); mov %r11, 88(%rax); mov %r12, 96(%rax)\n"
        "mov %r13, 104(%rax); mov %r14, 112(%rax); mov %r15, 120(%rax)\n"
        "mov probe_sp(%rip), %rsp; pushfq; popq 128(%rax); movq $0, 136(%rax)\n"
        "xor %ecx, %ecx; mov %ecx, %fs; mov probe_fs(%rip), %rcx; wrfsbase %rcx\n"
        "probe_done: push $0x202; popfq\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
        "probe_handler: xor %ecx, %ecx; mov %ecx, %fs; mov probe_fs(%rip), %rcx; wrfsbase %rcx\n"
        "jmp probe_signal\n");

__attribute__((used)) void probe_signal(int sig, siginfo_t *si, void *context) {
    static const int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8,
                                REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_EFL, REG_RIP};
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    probe_fault.sig = sig;
    probe_fault.code = si->si_code;
    probe_fault.addr = (uint64_t)si->si_addr;
    probe_fault.trapno = (uint64_t)g[REG_TRAPNO];
    probe_fault.err = (uint64_t)g[REG_ERR];
    probe_fault.cr2 = g[REG_TRAPNO] == 14 ? (uint64_t)g[REG_CR2] : 0;
    for (int i = 0; i < N_REGS; i++) probe_out[i] = (uint64_t)g[order[i]];
    if (g[REG_TRAPNO] == 16) { /* what the kernel's image says of the x87 instruction */
        const struct _libc_fpstate *fp = ((ucontext_t *)context)->uc_mcontext.fpregs;
        probe_x87[0] = fp->fop, probe_x87[1] = fp->rip - probe_in[RIP], probe_x87[2] = fp->rdp;
    }
    g[REG_RIP] = (greg_t)probe_done;
    g[REG_RSP] = (greg_t)probe_sp;
    g[REG_EFL] = 0x202;
}

static void fixed(uintptr_t at, size_t len, int prot) {
    if (mmap((void *)at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != (void *)at) exit(3);
}

/* What the memory a probe may use looks like before it runs. */
static void probe_reset(void) {
    for (int i = 0; i < 4096; i++) ((volatile unsigned char *)DATA)[i] = (unsigned char)(i * 7 + 1);
    for (int i = -512; i < 0; i++) ((volatile uint64_t *)STACK_TOP)[i] = 0x5a5a5a5a5a5a5a00u + (unsigned)i;
    static const uint64_t init[16] = {[RAX] = 0x1111111122223333, [RCX] = 3, [RDX] = 0x0123456789abcdef,
        [RBX] = DATA + 0x100, [RSP] = STACK_TOP - 0x800, [RBP] = STACK_TOP - 0x700, [RSI] = DATA + 0x200,
        [RDI] = DATA + 0x300, [R8] = NONCANONICAL, [R9] = HOLE + 8, [R10] = RO + 16, [R11] = DATA + 4093,
        [R12] = DATA + 0x40, [R13] = DATA + 0x401, [R14] = 0xffffffff81000000, [R15] = 0x7777777766665555};
    memcpy(probe_in, init, sizeof init);
    memset(&probe_fault, 0, sizeof probe_fault);
}

static uint64_t probe_memory(void) {
    uint64_t h = 1;
    for (int i = 0; i < 512; i++) h = (h ^ ((volatile uint64_t *)DATA)[i]) * 0x9e3779b97f4a7c15u;
    for (int i = -512; i < 0; i++) h = (h ^ ((volatile uint64_t *)STACK_TOP)[i]) * 0x9e3779b97f4a7c15u;
    return h;
}

static void probe_print(const char *name, uint64_t start) {
    static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9",
                                        "r10", "r11", "r12", "r13", "r14", "r15"};
    printf("%s %lx:", name, (unsigned long)probe_in[RFLAGS] & ARITH);
    if (probe_fault.sig)
        printf(" signal %d code %d addr %lx trap %lu err %lx cr2 %lx rip %+ld", probe_fault.sig, probe_fault.code,
               (unsigned long)probe_fault.addr, (unsigned long)probe_fault.trapno, (unsigned long)probe_fault.err,
               (unsigned long)probe_fault.cr2, (long)(probe_out[RIP] - start));
    if (probe_fault.trapno == 16)
        printf(" x87 %lx %+ld %lx", (unsigned long)probe_x87[0], (long)probe_x87[1], (unsigned long)probe_x87[2]);
    printf(" flags %lx", (unsigned long)probe_out[RFLAGS]);
    for (int i = 0; i < 16; i++)
        if (probe_out[i] != probe_in[i]) printf(" %s %lx", names[i], (unsigned long)probe_out[i]);
    printf(" memory %lx\n", (unsigned long)probe_memory());
}

static void probe_areas(void) {
    static unsigned char alternate[65536];
    stack_t ss = {.ss_sp = alternate, .ss_size = sizeof alternate};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    struct sigaction sa = {.sa_sigaction = probe_handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    __asm__("rdfsbase %0" : "=r"(probe_fs));
    sigaltstack(&ss, NULL);
    for (int i = 0; i < 5; i++) sigaction(signals[i], &sa, NULL);
    fixed(DATA, 4096, PROT_READ | PROT_WRITE);
    fixed(RO, 4096, PROT_READ);
    (void)*(volatile char *)RO;
    fixed(EXIT_SLOT, 4096, PROT_READ | PROT_WRITE);
    fixed(STACK_TOP - 0x20000, 0x20000, PROT_READ | PROT_WRITE);
    *(void (**)(void))EXIT_SLOT = leave_probe;
    syscall(SYS_arch_prctl, ARCH_SET_GS, DATA);
}

/* jmp *EXIT_SLOT */
static unsigned char *put_exit(unsigned char *at) {
    static const unsigned char jump[7] = {0xff, 0x24, 0x25, EXIT_SLOT & 0xff, EXIT_SLOT >> 8 & 0xff,
                                          EXIT_SLOT >> 16 & 0xff, EXIT_SLOT >> 24};
    memcpy(at, jump, sizeof jump);
    return at + sizeof jump;
}

static void run_code(const char *name, uint64_t start) {
    for (int set = 0; set < 2; set++) {
        int tries = 0;
        do {
            probe_reset();
            probe_in[RFLAGS] = 0x202 | (set ? ARITH : 0);
            probe_in[RIP] = start;
            enter_probe();
        } while (PROBE_AGAIN && ++tries < 50);
        probe_print(name, start);
    }
}

static inline int run_probes(void) {
    setvbuf(stdout, NULL, _IOLBF, 1 << 12);
    probe_areas();
    fixed(CODE, CODE_MAX, PROT_READ | PROT_WRITE);
    unsigned char *at = (unsigned char *)CODE;
    for (const struct probe *p = __start_probetab; p < __stop_probetab; p++) {
        memcpy(at, p->from, (size_t)(p->to - p->from));
        at = put_exit(at + (p->to - p->from));
        at = (unsigned char *)(((uintptr_t)at + 63) & ~(uintptr_t)63);
    }
    mprotect((void *)CODE, CODE_MAX, PROT_READ | PROT_EXEC);
    at = (unsigned char *)CODE;
    for (const struct probe *p = __start_probetab; p < __stop_probetab; p++) {
        if (!PROBE_SKIP(p->name)) run_code(p->name, (uint64_t)at);
        at = (unsigned char *)(((uintptr_t)at + (size_t)(p->to - p->from) + 7 + 63) & ~(uintptr_t)63);
    }
    return 0;
}

#endif

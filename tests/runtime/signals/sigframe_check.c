/* Compares a frame that sigframe.c builds with the one the kernel built for
 * the same registers, then returns through ours.  Hosted: libc stands in for
 * the rest of the runtime.  With -DLEGACY: the frame for a CPU without XSAVE,
 * where the kernel's (arch/x86 fpu: fxsave, no software bytes, no UC_FP_XSTATE)
 * cannot be had for a comparison. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/signals/signals.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/base/cpu.h"
#include "runtime/hooks.h"
#include "runtime/signals/sig.h"

/* ---- the rest of the runtime ---------------------------------------------------- */

struct rt_global rt;
static int raised;
/* Not libc's memcpy: its vzeroupper would spoil the state under test. */
void *memcpy(void *d, const void *s, size_t n) {
    void *r = d;
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
    return r;
}
void *memset(void *d, int c, size_t n) {
    void *r = d;
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
    return r;
}
long rt_copy_from(void *d, u64 s, u64 n) {
    memcpy(d, (const void *)s, n);
    return 0;
}
long rt_copy_to(u64 d, const void *s, u64 n) {
    memcpy((void *)d, s, n);
    return 0;
}
void rt_die(const char *fmt, ...) {
    puts(fmt);
    exit(2);
}
void *rt_pages(u64 n) { return calloc(1, n); }
u16 rt_ss(struct tstate *ts) {
    u16 ss;
    (void)ts;
    __asm__("mov %%ss, %0" : "=r"(ss));
    return ss;
}
void rt_segments_returned(struct tstate *ts, u16 cs, u16 ss) { (void)ts, (void)cs, (void)ss; }

long rt_load_ss(u32 selector) {
    __asm__ volatile("mov %0, %%ss" : : "r"(selector));
    return 0;
}
bool rt_grow_stack(struct tstate *ts, u64 a) {
    (void)ts, (void)a;
    return false;
}
void rt_hook_written(u64 a, u64 n) { (void)a, (void)n; }
void rt_hook_stack_loaded(struct tstate *ts, u64 a, u64 b) { (void)ts, (void)a, (void)b; }
void rt_hook_stack_returned(struct tstate *ts, u64 a, u64 b, bool c) { (void)ts, (void)a, (void)b, (void)c; }
void rt_hook_signal(struct tstate *ts, int sig, u64 pc, u64 sp) { (void)ts, (void)sig, (void)pc, (void)sp; }
void rt_hook_sigreturn(struct tstate *ts) { (void)ts; }
void rt_debug_returned(struct tstate *ts) { (void)ts; }
void rt_hook_handler_enter(struct tstate *ts, u64 f, const struct sig_context *m) { (void)ts, (void)f, (void)m; }
void rt_hook_handler_leave(struct tstate *ts, u64 f, const struct sig_context *m) { (void)ts, (void)f, (void)m; }
void sig_apply_mask(struct rt_thread *th) { (void)th; }
void sig_show_frame(struct tstate *ts, int sig) { (void)ts, (void)sig; }
void sig_show_return(struct tstate *ts) { (void)ts; }
void rt_note(struct tstate *ts, const char *fmt, ...) { (void)ts, (void)fmt; }
void rt_signal_raise(struct tstate *ts, int sig, int code, u64 a) {
    (void)ts, (void)code, (void)a;
    raised = sig;
}
bool sig_on_altstack(const struct rt_thread *th, u64 sp) {
    (void)th, (void)sp;
    return false;
}
/* No x87 instruction of a code cache is in this process. */
void rt_x87_image(u8 *image) { (void)image; }
void sig_host_handler(int sig, const struct sig_info *info, struct sig_ucontext *uc) {
    (void)sig, (void)info, (void)uc;
}
void rt_signal_resume(struct tstate *ts) {
    (void)ts;
    __builtin_trap();
}
void thread_start(struct tstate *ts) {
    (void)ts;
    __builtin_trap();
}
/* Nothing here may use AMX. */
void rt_int1(void) { __builtin_trap(); }

static int failures;
static void check(bool ok, const char *what) {
    if (!ok) {
        printf("differs: %s\n", what);
        failures++;
    }
}

#ifdef LEGACY

const struct rt_cpu *rt_cpu(void) {
    static const struct rt_cpu no_xsave = {.known = true};
    return &no_xsave;
}

static const double pattern[2] = {1.5, 2.5};

int main(void) {
    static struct tstate state __attribute__((aligned(64)));
    static u8 stack[65536] __attribute__((aligned(64)));
    struct tstate *ts = &state;
    struct sig_action a = {(u64)main, SA_FL_SIGINFO | SA_FL_RESTORER, (u64)main, 0};
    struct sig_info info = {.signo = SIGUSR1};
    u16 control;
    u32 mxcsr, round_up = 0x5f80;
    double out[2];
    rt_th(ts)->ts = ts;
    sig_xstate_init();
    memset(stack, 0x5a, sizeof stack);
    u64 sp = ts->gpr[IP_RSP] = (u64)stack + 61000, at = RT_ROUND_DOWN(sp - 128 - 512, 64);
    __asm__ volatile("movupd %0, %%xmm7; ldmxcsr %1" : : "m"(pattern), "m"(round_up));
    bool built = sig_setup_frame(ts, &a, &info);
    __asm__ volatile("movupd %%xmm7, %0; stmxcsr %1; fnstcw %2" : "=m"(out), "=m"(mxcsr), "=m"(control));
    check(built, "frame built");
    check(out[0] == 0 && out[1] == 0 && mxcsr == 0x1f80 && control == 0x37f, "initial state in the handler");
    struct sig_frame *ours = (struct sig_frame *)ts->gpr[IP_RSP];
    check(ours->uc.flags == 6, "flags");
    check(ours->uc.mc.fpstate == at, "place of the state");
    u8 *fp = (u8 *)at;
    check(memcmp(fp + 160 + 7 * 16, pattern, 16) == 0 && memcmp(fp + 24, &round_up, 4) == 0, "xmm7, mxcsr");
    check(fp[464] == 0x5a && fp[511] == 0x5a && fp[512] == 0x5a && fp[575] == 0x5a, "bytes that fxsave leaves alone");
    double edited = 42;
    memcpy(fp + 160 + 7 * 16, &edited, 8);
    ts->gpr[IP_RSP] += 8;
    long r = rt_sys_rt_sigreturn(ts);
    __asm__ volatile("movupd %%xmm7, %0; stmxcsr %1" : "=m"(out), "=m"(mxcsr));
    check(r == RT_NO_RESULT && !raised, "return");
    check(out[0] == 42 && out[1] == 2.5 && mxcsr == round_up, "state restored");
    ts->gpr[IP_RSP] = (u64)ours + 8;
    memset(fp + 24, 0xff, 4);
    r = rt_sys_rt_sigreturn(ts);
    check(r == RT_NO_RESULT && raised == SIG_SEGV, "bad mxcsr refused");
    return failures != 0;
}

#else

/* ---- the kernel's frame ------------------------------------------------------------ */

#define XSTATE 32768
static struct sig_frame kernel;
static u8 kernel_fp[XSTATE];
static u64 kernel_at;

__attribute__((used)) void capture(u64 sp);
void capture(u64 sp) {
    u32 size;
    kernel_at = sp;
    memcpy(&kernel, (const void *)sp, sizeof kernel);
    memcpy(&size, (const u8 *)kernel.uc.mc.fpstate + 468, 4); /* extended_size */
    memcpy(kernel_fp, (const void *)kernel.uc.mc.fpstate, size);
}
__asm__("raw_handler: mov %rsp, %rdi; push %rbx; call capture; pop %rbx; ret\n"
        "raw_restorer: mov $15, %eax; syscall\n");
extern char raw_handler[], raw_restorer[];

#define SAME(field) check(ours->field == kernel.field, #field)

static const double pattern[4] = {1.5, 2.5, 3.5, 4.5};
static inline __attribute__((always_inline)) void load_ymm7(void) {
    __asm__ volatile("vmovupd %0, %%ymm7" : : "m"(pattern));
}

int main(void) {
    static struct tstate state __attribute__((aligned(64)));
    static u8 stack[65536] __attribute__((aligned(64)));
    struct tstate *ts = &state;
    struct sig_action a = {(u64)raw_handler, SA_FL_SIGINFO | SA_FL_RESTORER, (u64)raw_restorer, 0x400};
    const struct sig_context *m = &kernel.uc.mc;
    double out[4];

    rt_th(ts)->ts = ts;
    sig_xstate_init();
    sys4(__NR_rt_sigaction, SIGUSR1, (long)&a, 0, 8);
    long pid = getpid(), tid = gettid();
    load_ymm7();
    sys3(__NR_tgkill, pid, tid, SIGUSR1);

    u64 regs[16] = {m->ax, m->cx, m->dx,  m->bx,  0,      m->bp,  m->si,  m->di,
                    m->r8, m->r9, m->r10, m->r11, m->r12, m->r13, m->r14, m->r15};
    memcpy(ts->gpr, regs, sizeof regs);
    ts->gpr[IP_RSP] = (u64)stack + 61440 + m->sp % 64;
    u64 sp = ts->gpr[IP_RSP];
    ts->pc = m->ip;
    ts->rflags = m->flags;
    load_ymm7();
    bool built = sig_setup_frame(ts, &a, &kernel.info);
    __asm__ volatile("vmovupd %%ymm7, %0" : "=m"(out));
    check(built, "frame built");
    check(out[0] == 0 && out[3] == 0, "initial vector state in the handler");
    check(ts->pc == a.handler && ts->gpr[IP_RDI] == SIGUSR1, "entry of the handler");
    check(rt_th(ts)->sigmask == (SIG_BIT(SIGUSR1) | 0x400), "mask in the handler");

    struct sig_frame *ours = (struct sig_frame *)ts->gpr[IP_RSP];
    check((u64)ours - sp == kernel_at - m->sp, "place of the frame");
    check(ours->uc.mc.fpstate - sp == m->fpstate - m->sp, "place of the extended state");
    check(ts->gpr[IP_RDX] == (u64)&ours->uc && ts->gpr[IP_RSI] == (u64)&ours->info, "arguments");
    SAME(pretcode), SAME(uc.flags), SAME(uc.link), SAME(uc.sigmask);
    SAME(uc.stack.sp), SAME(uc.stack.flags), SAME(uc.stack.size);
    SAME(uc.mc.cs), SAME(uc.mc.ss), SAME(uc.mc.gs), SAME(uc.mc.fs), SAME(uc.mc.ip), SAME(uc.mc.flags);
    SAME(uc.mc.oldmask);
    /* The kernel tells the thread's last fault, even one of before the fork and the exec. */
    check(!ours->uc.mc.err && !ours->uc.mc.trapno && !ours->uc.mc.cr2, "no fault");
    SAME(uc.mc.ax), SAME(uc.mc.di), SAME(uc.mc.r8), SAME(uc.mc.r15), SAME(uc.mc.bp);
    check(memcmp(&ours->info, &kernel.info, sizeof kernel.info) == 0, "siginfo");
    u8 *fp = (u8 *)ours->uc.mc.fpstate;
    check(memcmp(fp + 464, kernel_fp + 464, 48) == 0, "software bytes");
    check(memcmp(fp + 512, kernel_fp + 512, 64) == 0, "xsave header");
    check(memcmp(fp + 160 + 7 * 16, pattern, 16) == 0 && memcmp(fp + 576 + 7 * 16, pattern + 2, 16) == 0, "ymm7");

    /* Back, with the handler's edits. */
    double edited = 42;
    memcpy(fp + 160 + 7 * 16, &edited, 8);
    ours->uc.mc.bx = 77;
    ours->uc.mc.ip = 0x1234;
    ours->uc.sigmask = ~0ull;
    ts->gpr[IP_RSP] += 8; /* the handler's ret */
    long r = rt_sys_rt_sigreturn(ts);
    __asm__ volatile("vmovupd %%ymm7, %0" : "=m"(out));
    check(r == RT_NO_RESULT && !raised, "return");
    check(out[0] == 42 && out[2] == 3.5, "vector state restored");
    check(ts->gpr[IP_RBX] == 77 && ts->pc == 0x1234 && ts->gpr[IP_RSP] == sp, "registers restored");
    check(rt_th(ts)->sigmask == ~SIG_UNBLOCKABLE, "mask restored");
    /* A header that xrstor refuses must end in SIGSEGV, not in a fault of ours. */
    ts->gpr[IP_RSP] = (u64)ours + 8;
    fp[530] = 1;
    r = rt_sys_rt_sigreturn(ts);
    check(r == RT_NO_RESULT && raised == SIG_SEGV, "bad header refused");
    return failures != 0;
}

#endif

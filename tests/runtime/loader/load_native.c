/* load_native PROGRAM [ARG...]: let the runtime's loader map a program and build
 * its stack, then run it on the real CPU.  Requests to the supervisor go to
 * descriptor 3, if it is open. */
#include "runtime/loader/loader.h"
#include "runtime/memory/memory.h"
#include "runtime/processes/processes.h"
#include "harness.h"

void harness_main(u64 *sp);
static struct tstate ts;

void rt_warn(struct tstate *t, const char *fmt, ...) {
    va_list ap;
    (void)t;
    va_start(ap, fmt);
    rt_vline("interpose: ", fmt, ap);
    va_end(ap);
}

/* What comes of the signal is not the loader's. */
void rt_die_by_signal(struct tstate *t, int sig, int code, u64 addr) {
    (void)t, (void)sig, (void)code, (void)addr;
    sys1(__NR_exit_group, 1);
    __builtin_unreachable();
}

static void request(u32 kind, const struct ip_slot *s) {
    char text[4600];
    int n = kind == IP_R_MAPPED
                ? rt_snprintf(text, sizeof text, "mapped %lx %lx %lx %lu %s\n", s->a[0], s->a[1], s->a[2], s->a[3],
                              (const char *)s->data)
                : rt_snprintf(text, sizeof text, "loaded entry %lx phdr %lx base %lx bias %lx sp %lx brk %lx\n",
                              s->a[0], s->a[1], s->a[2], s->a[3], s->a[4], s->a[5]);
    sys3(__NR_write, 3, (long)text, n);
}

void harness_main(u64 *sp) {
    if (sp[0] < 2) fail("usage: load_native PROGRAM [ARG...]");
    rt.chan = rt_pages(sizeof *rt.chan);
    rt_snprintf((char *)rt.chan->prog, sizeof rt.chan->prog, "%s", (const char *)sp[2]);
    on_request = request;
    rt_mm_init(&ts);
    sp[1] = sp[0] - 1;
    rt_load_program(&ts, sp + 1);
    for (u32 i = 0; i < rt_nsegs; i++)
        sys3(__NR_mprotect, (long)rt_segs[i].lo, (long)(rt_segs[i].hi - rt_segs[i].lo), rt_segs[i].prot);
    __asm__ volatile("mov %0, %%rsp\n"
                     "push %1\n"
                     "xor %%edx, %%edx\n"
                     "ret"
                     :
                     : "r"(ts.gpr[IP_RSP]), "r"(ts.pc));
    __builtin_unreachable();
}

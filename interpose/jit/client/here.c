/* The translator in the program's process: a thread that comes to new code makes its translation itself, in the memory
 * that it shares with the supervisor.  To ask that took two processes' wake-ups, some 10 us for 5 us of work. */
#include "abi/inline/futex.h"
#include "jit/memory.h"
#include "runtime/seam.h"

static struct transtab *const table = &((struct tt_memory *)IP_XLT_BASE)->table;

static bool is_gone(u32 holder) {
    if (holder == IP_SUPERVISOR && rt_supervisor_gone()) rt_end_alone();
    return false;
}

static void lock(void) {
    if (!ip_lock_try(&table->lock, IP_PROGRAM) && ip_lock_await(&table->lock, IP_PROGRAM, is_gone))
        table->broken = true;
}

/* Another process on the program's memory (vfork, clone) asks: it may be stopped or killed where it is, and the program
 * goes on. */
static bool is_programs(struct tstate *ts) { return !rt_th(ts)->vfork_child && rt_th(ts)->pid == rt.pid; }

/* What was written by another address than it is run by is there for the CPU behind a serializing instruction only
 * (SDM volume 3, 9.1.3).  NT may be the program's, and iretq faults over it: it comes back with the flags. */
static void serialize(void) {
    __asm__ volatile("mov %%rsp, %%rax\n\t"
                     "mov %%ss, %%ecx\n\t"
                     "push %%rcx\n\t"
                     "push %%rax\n\t"
                     "pushf\n\t"
                     "pushf\n\t"
                     "andl $~0x4000, (%%rsp)\n\t"
                     "popf\n\t"
                     "mov %%cs, %%ecx\n\t"
                     "push %%rcx\n\t"
                     "lea 1f(%%rip), %%rcx\n\t"
                     "push %%rcx\n\t"
                     "iretq\n"
                     "1:"
                     :
                     :
                     : "rax", "rcx", "memory", "cc");
}

bool rt_translate_here(struct tstate *ts, u32 kind) {
    struct ip_slot *s = rt_slot(ts);
    if (!__atomic_load_n(&table->here, __ATOMIC_RELAXED) || rt_th(ts)->no_tsc || !is_programs(ts)) return false;
    if (rt_program_brings_pages) return false; /* who brings one may come to new code; the supervisor does not wait */
    rt_delay(IP_AT_REQUEST);
    lock();
    bool may = tt_may_serve(table, s, kind);
    if (may) {
        tt_serve(table, s, kind);
        tt_forget_ahead(table); /* made when control comes there: to come back costs little */
    }
    if (may && kind == IP_R_TRANSLATE) table->stats.here++;
    bool tell = may && tt_has_used(table);
    ip_lock_give(&table->lock);
    if (!may) return false;
    rt_delay(IP_AT_TRANSLATED);
    if (tell) ip_ring(&rt.chan->bell_py);
    serialize();
    return true;
}

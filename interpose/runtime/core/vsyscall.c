/* The vsyscall page of old static programs, at an address that is the kernel's.
 *
 * Nothing can be fetched from there, and no key of a translation holds its address. So a jump there makes the system
 * call, as the kernel's own emulation does: it pops the return address, and an argument that faults is SIGSEGV. What
 * the call and the return did to RSP is seen as that of a function that has returned.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "runtime/core/core.h"
#include "runtime/base/ksignal.h"
#include "runtime/hooks.h"

#define ENTRIES       3
#define SYSCALL_BYTES 2
#define LONGEST       128 /* of its line in the list of mappings */

static const u64 entries[ENTRIES] = {0xffffffffff600000, 0xffffffffff600400, 0xffffffffff600800};
static const u16 numbers[ENTRIES] = {__NR_gettimeofday, __NR_time, __NR_getcpu};

/* The end of the kernel's list of mappings, which is that page's line if there is one (vsyscall=emulate or xonly). */
static void find_line(char line[LONGEST]) {
    static const char name[] = "[vsyscall]\n";
    char text[4096];
    u64 kept = 0, tail = sizeof name - 1;
    long fd = sys4(__NR_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), n;
    if (fd < 0) return;
    while ((n = sys3(__NR_read, fd, (long)(text + kept), (long)(sizeof text - kept))) > 0) {
        u64 all = kept + (u64)n;
        kept = all < LONGEST - 1 ? all : LONGEST - 1;
        memmove(text, text + all - kept, kept);
    }
    sys1(__NR_close, fd);
    if (kept < tail || memcmp(text + kept - tail, name, tail) != 0) return;
    u64 from = kept - tail;
    while (from > 0 && text[from - 1] != '\n') from--;
    memcpy(line, text + from, kept - from);
}

const char *rt_vsyscall_line(void) {
    static char known[LONGEST];
    static u32 is_known;
    static rt_lock_t lock;
    rt_lock(&lock);
    if (!is_known) find_line(known);
    is_known = 1;
    rt_unlock(&lock);
    return known;
}

bool rt_vsyscall(struct tstate *ts, u64 pc) {
    u64 sp = ts->gpr[IP_RSP], rcx = ts->gpr[IP_RCX], r11 = ts->gpr[IP_R11], back, which = 0;
    while (which < ENTRIES && entries[which] != pc) which++;
    if (which == ENTRIES || !*rt_vsyscall_line() || rt_copy_from(&back, sp, sizeof back) < 0) return false;
    ts->gpr[IP_RAX] = numbers[which];
    ts->gpr[IP_RSP] = sp + sizeof back;
    ts->pc = back - 1 - SYSCALL_BYTES; /* reports add these: they are about the line of the call */
    rt_callstack_drop(ts, sp, sp + sizeof back);
    rt_syscall(ts, back);
    ts->gpr[IP_RCX] = rcx;
    ts->gpr[IP_R11] = r11;
    if ((i64)ts->gpr[IP_RAX] != -EFAULT) {
        rt_hook_stack_changed(ts, sp, sp + sizeof back);
        return true;
    }
    ts->gpr[IP_RSP] = sp;
    ts->pc = pc;
    rt_signal_raise(ts, SIG_SEGV, SEGV_NO_MAP, ts->gpr[IP_RDI]);
    return true;
}

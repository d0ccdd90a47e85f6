/* Birth of the client: from the kernel's exec of the runtime to the program's
 * first instruction. */
#include <asm/unistd.h>
#include <linux/auxvec.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#include "runtime/core/core.h"
#include "runtime/loader/loader.h"
#include "runtime/memory/memory.h"
#include "runtime/processes/processes.h"
#include "runtime/signals/signals.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/hooks.h"
#include "build_id.h"
#include "runtime/base/rt.h"

RT_NORETURN void rt_run_native(struct tstate *ts);
extern char rt_find_stub[];
extern char rt_enter_jump[], rt_exit_stub[], rt_miss_stub[], rt_slow_stub[], rt_cs_sync_stub[];

/* The launcher executed us as /dev/fd/N: N is our own executable, and the
 * descriptors after it are the supervisor's (docs/architecture.md). */
static long own_fd(const u64 *sp) {
    u64 argc = sp[0];
    const u64 *p = sp + 1 + argc + 1;
    while (*p) p++;
    for (p++; p[0]; p += 2) {
        if (p[0] != AT_EXECFN) continue;
        const char *s = (const char *)p[1];
        if (rt_strncmp(s, "/dev/fd/", 8)) return -1;
        long n = 0;
        for (s += 8; *s >= '0' && *s <= '9'; s++) n = n * 10 + (*s - '0');
        return n;
    }
    return -1;
}

static void map_fixed(u64 at, u64 len, int prot, long fd, u64 offset, const char *what) {
    long r = sys6(__NR_mmap, (long)at, (long)len, prot,
                  fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE
                         : MAP_SHARED | MAP_FIXED_NOREPLACE,
                  fd, (long)offset);
    if (r != (long)at)
        rt_die("cannot map the %s at 0x%lx (error %ld)%s", what, at, -r, r == -ENOMEM ? "; check 'ulimit -v'" : "");
    sys3(__NR_madvise, (long)at, (long)len, MADV_DONTDUMP); /* a core file is the program's */
}

/* Channel, code cache and meta memory, which fd and the two behind it are of: as what runs has them, and as the
 * translator does. */
static void map_shared(long fd) {
    map_fixed(IP_CHAN_BASE, IP_CHAN_BYTES, PROT_READ | PROT_WRITE, fd, 0, "channel");
    map_fixed(IP_CACHE_BASE, IP_CACHE_MAX, PROT_READ | PROT_EXEC, fd + 1, 0, "code cache");
    map_fixed(IP_META_BASE, IP_META_MAX, PROT_READ, fd + 2, 0, "translation tables");
    map_fixed(IP_XLT_BASE, IP_XLT_MAX, PROT_READ | PROT_WRITE, fd, IP_CHAN_BYTES, "translator's memory");
    map_fixed(IP_XLT_CACHE, IP_CACHE_MAX, PROT_READ | PROT_WRITE, fd + 1, 0, "translator's code cache");
    map_fixed(IP_XLT_META, IP_META_MAX, PROT_READ | PROT_WRITE, fd + 2, 0, "translator's tables");
    for (int i = 0; i < 3; i++) sys1(__NR_close, fd + i);
}

void rt_main(u64 *sp) {
    long fd = own_fd(sp);
    if (fd < 0) rt_die("this is the runtime of interpose; run: interpose [options] program");
    rt.runtime_fd = (int)fd;
    rt.sock_fd = (int)fd + 4;
    rt.shadow_fd = rt.tool_fd = -1;
    rt.page_size = RT_PAGE;
    rt_limits_init();
    map_shared(fd + 1);
    map_fixed(IP_FAST_BASE, 8ull << IP_FAST_BITS, PROT_READ | PROT_WRITE, -1, 0, "look-up table");
    rt.chan = (struct ip_chan *)IP_CHAN_BASE;
    rt.meta = (const struct ip_meta *)IP_META_BASE;
    if (rt.chan->magic != IP_MAGIC || rt.chan->build != IP_BUILD_ID)
        rt_die("the runtime and the translator are of different builds; install the package again");
    rt.flags = rt.chan->config_flags;
    rt_cache_for_perf();
    rt.pid = (u32)sys0(__NR_getpid);
    rt.chan->client_pid = rt.pid;
    rt_fill_fast();

    u64 *sym = rt.chan->rt_symbols;
    sym[IP_SYM_INDIRECT_MISS] = (u64)(rt.flags & IP_C_NO_CHAIN ? rt_miss_stub : rt_find_stub);
    sym[IP_SYM_MISS] = (u64)rt_miss_stub;
    sym[IP_SYM_SLOW] = (u64)rt_slow_stub;
    sym[IP_SYM_CS_SYNC] = (u64)rt_cs_sync_stub;
    sym[IP_SYM_EXIT] = (u64)rt_exit_stub;
    sym[IP_SYM_REQUEST] = (u64)rt_exit_stub;
    sym[IP_SYM_RUN_NATIVE] = (u64)rt_run_native;
    sym[IP_SYM_KERNEL_INSN] = (u64)rt_kernel_insn;
    sym[IP_SYM_WATCHED] = (u64)rt_watched;
    rt_hook_symbols(sym);
    sym[IP_SYM_ENTER_JUMP] = (u64)rt_enter_jump; /* last: tells a tracer that all are there */

    struct tstate *ts = rt_thread_new();
    rt_find_tsc(ts);
    rt_th(ts)->tid = rt_th(ts)->pid = rt.pid;
    rt_carried_over(ts);
    ts->bbcount = rt.chan->stop_after;
    sys2(__NR_arch_prctl, 0x1002, (long)ts);
    sys2(__NR_arch_prctl, 0x1001, rt.flags & IP_C_SHADOW ? (long)(IP_V_CONST - IP_V_DISP) : 0);
    rt_process_init(ts);
    rt_learn_own_exe();
    rt_mm_init(ts);
    rt_hook_start(ts);
    rt_hook_thread_begin(ts);
    rt_signal_init(ts);
    rt_watch_supervisor(); /* by a signal, so not before */
    rt_slot(ts)->a[0] = rt.pid;
    rt_request_python(ts, IP_R_HELLO);
    rt_fds_begin(ts);
    if (rt.chan->stubs[0]) rt_load_image(ts, (const char *)rt.chan->stubs);
    rt_load_program(ts, sp);
    rt_run(ts);
}

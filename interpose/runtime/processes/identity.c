/* What the kernel tells others about the process (ps, /proc/PID, core files):
 * prctl(PR_SET_MM_MAP) points it at the program's arguments, environment,
 * auxiliary vector, code and stack instead of the runtime's (prctl(2)), and,
 * where we have the capability (CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN), at its
 * executable.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/elf.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>

#include "runtime/syscalls/syscalls.h"
#include "runtime/loader/image.h"
#include "runtime/memory/mm.h"

#define SET_MASK 2 /* SIG_SETMASK */

#define EXE_AS_IS 0xffffffffu

/* Bounds of code and data as the kernel's ELF loader takes them. */
static void bounds(struct prctl_mm_map *m, const struct rt_image *im) {
    const Elf64_Phdr *ph = (const Elf64_Phdr *)im->phdr;
    u64 code_lo = ~0ull, code_hi = 0, data_lo = 0, data_hi = 0;
    for (u64 i = 0; ph != NULL && i < im->phnum; i++) {
        u64 lo = ph[i].p_vaddr + im->bias, hi = lo + ph[i].p_filesz;
        if (ph[i].p_type != PT_LOAD) continue;
        if (ph[i].p_flags & PF_X) {
            code_lo = lo < code_lo ? lo : code_lo;
            code_hi = hi > code_hi ? hi : code_hi;
        }
        data_lo = lo > data_lo ? lo : data_lo;
        data_hi = hi > data_hi ? hi : data_hi;
    }
    m->start_code = code_hi > code_lo ? code_lo : im->lo;
    m->end_code = code_hi > code_lo ? code_hi : im->hi;
    m->start_data = data_hi > data_lo ? data_lo : im->lo;
    m->end_data = data_hi > data_lo ? data_hi : im->lo;
}

bool rt_told_kernel, rt_exe_is_programs;

/* The kernel changes the executable only when no mapping of the old one is left:
 * put copies of our own pages in their place, the one that runs this among them.
 * Single-threaded still, and no signal may change data between copy and move. */
static bool leave_own_file(void) {
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)IP_RT_BASE;
    const Elf64_Phdr *ph = (const Elf64_Phdr *)(IP_RT_BASE + eh->e_phoff);
    Elf64_Phdr segs[8];
    u32 n = eh->e_phnum < 8 ? eh->e_phnum : 8;
    u64 all = ~0ull, before;
    bool ok = true;
    memcpy(segs, ph, n * sizeof *segs);
    sys4(__NR_rt_sigprocmask, SET_MASK, (long)&all, (long)&before, sizeof before);
    for (u32 i = 0; i < n && ok; i++) {
        u64 lo = RT_ROUND_DOWN(segs[i].p_vaddr, RT_PAGE);
        u64 len = RT_ROUND_UP(segs[i].p_vaddr + segs[i].p_filesz, RT_PAGE) - lo;
        long prot = (segs[i].p_flags & PF_R ? PROT_READ : 0) | (segs[i].p_flags & PF_W ? PROT_WRITE : 0) |
                    (segs[i].p_flags & PF_X ? PROT_EXEC : 0);
        if (segs[i].p_type != PT_LOAD || segs[i].p_filesz == 0) continue;
        long copy = rt_own_map(len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
        ok = copy > 0;
        if (!ok) break;
        memcpy((void *)copy, (const void *)lo, len);
        sys3(__NR_madvise, copy, (long)len, MADV_DONTDUMP);
        ok = sys3(__NR_mprotect, copy, (long)len, prot) == 0 &&
             sys5(__NR_mremap, copy, (long)len, (long)len, MREMAP_MAYMOVE | MREMAP_FIXED, (long)lo) == (long)lo;
        if (!ok) sys2(__NR_munmap, copy, (long)len);
    }
    sys4(__NR_rt_sigprocmask, SET_MASK, (long)&before, 0, sizeof before);
    return ok;
}

static long tell(struct prctl_mm_map *m, u32 exe) {
    m->exe_fd = exe;
    return sys5(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, (long)m, sizeof *m, 0);
}

void rt_tell_kernel(const struct rt_image *im) {
    struct prctl_mm_map m = {
        .start_brk = rt.brk_start,
        .brk = rt.brk_start,
        .start_stack = rt.auxv_sp,
        .arg_start = rt.arg_start,
        .arg_end = rt.arg_end,
        .env_start = rt.arg_end,
        .env_end = rt.env_end,
        .auxv = (void *)rt_auxv,
        .auxv_size = (u32)(rt_auxv_words * 8),
    };
    bounds(&m, im);
    long fd = sys4(__NR_openat, AT_FDCWD, (long)rt.exe_path, O_RDONLY | O_CLOEXEC, 0);
    long r = fd < 0 ? fd : tell(&m, (u32)fd);
    if (r == -EBUSY && leave_own_file()) /* privileged, but our file is mapped */
        r = tell(&m, (u32)fd);
    rt_exe_is_programs = rt_told_kernel = r == 0;
    if (!rt_told_kernel) rt_told_kernel = tell(&m, EXE_AS_IS) == 0;
    if (fd >= 0) sys1(__NR_close, fd);
}

/* perf takes names from /tmp/perf-PID.map for code in anonymous memory only, and learns
 * what memory is from mmap: show it anonymous memory, then move the cache there. */
void rt_cache_for_perf(void) {
    if (!(rt.flags & IP_C_PERF_MAP)) return;
    long apart = rt_own_map(IP_CACHE_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (apart < 0 ||
        sys5(__NR_mremap, IP_CACHE_BASE, IP_CACHE_MAX, IP_CACHE_MAX, MREMAP_MAYMOVE | MREMAP_FIXED, apart) != apart)
        rt_die("cannot move the code cache for --perf-map (error %ld)", apart < 0 ? -apart : 0);
    sys6(__NR_mmap, IP_CACHE_BASE, IP_CACHE_MAX, PROT_READ | PROT_EXEC,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (sys5(__NR_mremap, apart, IP_CACHE_MAX, IP_CACHE_MAX, MREMAP_MAYMOVE | MREMAP_FIXED, IP_CACHE_BASE) !=
        IP_CACHE_BASE)
        rt_die("cannot move the code cache for --perf-map (error %d)", 0);
}

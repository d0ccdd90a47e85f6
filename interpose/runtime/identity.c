/* What the kernel tells others about the process (ps, /proc/PID, core files):
 * prctl(PR_SET_MM_MAP) points it at the program's arguments, environment,
 * auxiliary vector, code and stack instead of the runtime's (prctl(2)).
 */
#include <asm/unistd.h>
#include <linux/elf.h>
#include <linux/prctl.h>

#include "image.h"

#define EXE_AS_IS 0xffffffffu /* changing the executable needs privilege */

/* Bounds of code and data as the kernel's ELF loader takes them. */
static void bounds(struct prctl_mm_map *m, const struct rt_image *im) {
    const Elf64_Phdr *ph = (const Elf64_Phdr *)im->phdr;
    u64 code_lo = ~0ull, code_hi = 0, data_lo = 0, data_hi = 0;
    for (u64 i = 0; ph != NULL && i < im->phnum; i++) {
        u64 lo = ph[i].p_vaddr + im->bias, hi = lo + ph[i].p_filesz;
        if (ph[i].p_type != PT_LOAD)
            continue;
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

bool rt_told_kernel;

void rt_tell_kernel(const struct rt_image *im) {
    struct prctl_mm_map m = {
        .start_brk = rt.brk_start, .brk = rt.brk_start, .start_stack = rt.auxv_sp,
        .arg_start = rt.arg_start, .arg_end = rt.arg_end, .env_start = rt.arg_end, .env_end = rt.env_end,
        .auxv = (void *)rt_auxv, .auxv_size = (u32)(rt_auxv_words * 8), .exe_fd = EXE_AS_IS,
    };
    bounds(&m, im);
    rt_told_kernel = sys5(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, (long)&m, sizeof m, 0) == 0;
}

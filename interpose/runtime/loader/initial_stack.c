/* The guest's initial stack, rebuilt from the one the kernel gave the runtime:
 * same argv and envp, an auxiliary vector that describes the program instead of
 * us.  Layout: psABI x86-64, "Initial Stack and Register State".
 */
#include <asm/unistd.h>
#include <linux/auxvec.h>
#include <linux/mman.h>
#include <linux/resource.h>

#include "runtime/memory/memory.h"
#include "runtime/hooks.h"
#include "runtime/loader/image.h"
#include "runtime/memory/mm.h"

#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#define AT_RSEQ_ALIGN        28
#endif
#ifndef AT_HWCAP2
#define AT_HWCAP2 26
#endif
#define AT_EXECFD_       2  /* the kernel may pass one to interpreters */
#define AT_SYSINFO_EHDR_ 33 /* the vDSO */

#define MIN_STACK (1ull << 20) /* bounds of --main-stacksize=0 */
#define MAX_STACK (16ull << 20)
#define GUARD     (1ull << 20)   /* never mapped, below the stack */
#define LEAST_GAP (128ull << 20) /* room to grow into, as the kernel leaves it */
#define MOST_GAP  (64ull << 30)  /* RLIMIT_STACK is unlimited */
#define HEADROOM  (256ull << 10) /* beside arguments and environment */

u64 rt_auxv[RT_AUXV_MAX], rt_auxv_words;

struct builder {
    u64 sp;   /* strings grow down from the top */
    u64 *out; /* next word of argc/argv/envp/auxv */
};

static u64 push_bytes(struct builder *b, const void *p, u64 n) {
    b->sp -= n;
    memcpy((void *)b->sp, p, n);
    return b->sp;
}

static u64 push_string(struct builder *b, u64 s) {
    return push_bytes(b, (const void *)s, rt_strlen((const char *)s) + 1);
}

static u64 stack_bytes(void) {
    struct rlimit64 lim = {0, 0};
    u64 bytes = rt.chan->main_stack;
    if (bytes == 0) {
        sys4(__NR_prlimit64, 0, RLIMIT_STACK, 0, (long)&lim);
        bytes = lim.rlim_cur < MIN_STACK ? MIN_STACK : lim.rlim_cur;
        if (bytes > MAX_STACK) bytes = MAX_STACK;
    }
    return RT_ROUND_UP(bytes, RT_PAGE);
}

/* What a main stack could become, and what a frame that is too large for it may reach: later mappings stay below. */
static u64 room_to_grow(void) {
    struct rlimit64 lim = {0, 0};
    sys4(__NR_prlimit64, 0, RLIMIT_STACK, 0, (long)&lim);
    u64 most = lim.rlim_cur < LEAST_GAP ? LEAST_GAP : lim.rlim_cur > MOST_GAP ? MOST_GAP : lim.rlim_cur;
    return RT_ROUND_UP(most, RT_PAGE);
}

/* One auxiliary entry: keep, change or drop (false). */
static bool translate_aux(struct builder *b, u64 aux[2], const struct rt_image *im, u64 interp_bias, u64 execfn,
                          u64 vdso) {
    switch (aux[0]) {
    case AT_SYSINFO_EHDR_: aux[1] = vdso; return vdso != 0;
    case AT_EXECFD_:
    case AT_RSEQ_FEATURE_SIZE:
    case AT_RSEQ_ALIGN: return false;
    case AT_PHDR: aux[1] = im->phdr; break;
    case AT_PHNUM: aux[1] = im->phnum; break;
    case AT_BASE: aux[1] = interp_bias; break;
    case AT_ENTRY: aux[1] = im->entry; break;
    case AT_EXECFN: aux[1] = execfn; break;
    case AT_PLATFORM:
    case AT_BASE_PLATFORM:
        if (aux[1]) aux[1] = push_string(b, aux[1]);
        break;
    case AT_RANDOM:
        if (aux[1]) aux[1] = push_bytes(b, (const void *)aux[1], 16);
        break;
    }
    return true;
}

static void map_stack(struct tstate *ts, u64 bytes, bool exec) {
    struct rt_seg s = {.kind = RT_SEG_STACK, .prot = PROT_READ | PROT_WRITE | (exec ? PROT_EXEC : 0)};
    rt_mm_lock();
    s.lo = mm_place_high(bytes, RT_PAGE);
    s.hi = s.lo + bytes;
    if (s.lo == 0 || mm_host_map(s.lo, bytes, s.prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                                 -1, 0) != (long)s.lo)
        rt_die("cannot map a main stack of %lu bytes; try a smaller --main-stacksize", bytes);
    u64 room = room_to_grow();
    rt.stack_lo = s.lo;
    u64 end = room > bytes ? s.hi - room : s.lo;
    rt.stack_end = rt.flags & IP_C_FIXED_STACK ? s.lo : end;
    mm_high_top = end - GUARD;
    mm_added(ts, &s, MM_WITH_SHADOW);
    rt_mm_unlock();
    rt_set_stack(ts, s.lo, s.hi);
    rt.stack_top = s.hi;
}

void rt_build_stack(struct tstate *ts, const u64 *kernel_sp, const struct rt_image *im, u64 interp_bias) {
    const u64 *argv = kernel_sp + 1, *envp = argv + kernel_sp[0] + 1, *aux = envp;
    u64 strings = rt_strlen((const char *)rt.chan->prog) + 1;
    for (const u64 *p = argv; *p; p++) strings += rt_strlen((const char *)*p) + 1;
    for (; *aux; aux++) strings += rt_strlen((const char *)*aux) + 1;
    aux++;
    u64 words = (u64)(aux - kernel_sp) + 2, n_aux = 1;
    for (const u64 *p = aux; p[0] != AT_NULL; p += 2) n_aux++;
    words += 2 * n_aux;
    u64 vdso = 0;
    for (const u64 *p = aux; p[0] != AT_NULL; p += 2)
        if (p[0] == AT_SYSINFO_EHDR_) vdso = rt_move_vdso(ts, p[1]);

    u64 bytes = stack_bytes();
    u64 fixed = RT_ROUND_UP(strings + words * 8, RT_PAGE) + HEADROOM;
    map_stack(ts, fixed > bytes ? fixed : bytes, im->exec_stack);

    struct builder b = {.sp = rt.stack_top - 8}; /* the kernel ends with a null word */
    u64 execfn = push_string(&b, (u64)rt.chan->prog);
    /* Strings first, in the kernel's order in memory: argv below envp below the name. */
    u64 *table = rt_pages(words * 8);
    b.out = table;
    *b.out++ = kernel_sp[0];
    u64 at = b.sp - (strings - (rt_strlen((const char *)rt.chan->prog) + 1));
    b.sp = at;
    rt.arg_start = at;
    for (const u64 *p = argv; p < aux; p++) {
        if (*p == 0) {
            if (p == envp - 1) rt.arg_end = at;
            *b.out++ = 0;
            continue;
        }
        u64 n = rt_strlen((const char *)*p) + 1;
        memcpy((void *)at, (const void *)*p, n);
        *b.out++ = at;
        at += n;
    }
    rt.env_end = at;
    b.sp = RT_ROUND_DOWN(b.sp, 16);
    const u64 *auxv = b.out;
    for (const u64 *p = aux; p[0] != AT_NULL; p += 2) {
        u64 pair[2] = {p[0], p[1]};
        if (!translate_aux(&b, pair, im, interp_bias, execfn, vdso)) continue;
        *b.out++ = pair[0];
        *b.out++ = pair[1];
    }
    *b.out++ = AT_NULL;
    *b.out++ = 0;
    rt_auxv_words = (u64)(b.out - auxv) < RT_AUXV_MAX ? (u64)(b.out - auxv) : RT_AUXV_MAX;
    memcpy(rt_auxv, auxv, rt_auxv_words * 8);
    u64 used = (u64)(b.out - table) * 8;
    b.sp = RT_ROUND_DOWN(b.sp - used, 16);
    memcpy((void *)b.sp, table, used);
    rt_free_pages(table, words * 8);
    ts->gpr[IP_RSP] = b.sp;
    rt.auxv_sp = b.sp;
    rt_hook_stack_new(ts->stack_lo, ts->stack_hi, b.sp);
}

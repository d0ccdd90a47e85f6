/* int $0x80: i386 system calls from 64-bit code.  The kernel takes 32 bits of each argument, looks the number up
 * in the i386 table, and changes no register but RAX (arch/x86/entry: do_int80_emulation).
 *
 * syscalls32.def says which of them are calls of the x86-64 table under another number: those go the way of any
 * system call, so what is replaced, hidden or checked there is so here.  Others the kernel answers through an
 * int $0x80 of ours.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <sys/mman.h>

#include "runtime/memory/memory.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/hooks.h"
#include "runtime/syscalls/seccomp.h"
#include "runtime/syscalls/syscall.h"
#include "runtime/ptrace/ptrace.h"

struct call32 {
    int nr64;
    bool known, real;
    const char *args;
};

#define SAME(nr, as, how)     [nr] = {as, true, false, how},
#define REAL(nr, as, outputs) [nr] = {as, true, true, outputs},
static const struct call32 table[] = {
#include "runtime/syscalls/syscalls32.def"
};
#undef SAME
#undef REAL

#define COUNT        (sizeof table / sizeof *table)
#define FIRST_COMMON 424 /* from here on both tables have the same numbers */
#define LAST_COMMON  600

enum {
    NR32_EXECVE = 11,
    NR32_FCNTL = 55,
    NR32_SETRLIMIT = 75,
    NR32_GETRLIMIT = 76,
    NR32_MMAP = 90,
    NR32_CLONE = 120,
    NR32_UGETRLIMIT = 191,
    NR32_MMAP2 = 192,
    NR32_FCNTL64 = 221
};
#define CLONE_VM_     0x100ull
#define CLONE_SETTLS_ 0x80000ull
#define MAX_STRINGS   65536u
#define REDZONE       128

static const u8 from32[6] = {IP_RBX, IP_RCX, IP_RDX, IP_RSI, IP_RDI, IP_RBP};

/* Values and V bits of one call. */
struct call {
    u64 args[6], undefined[6];
};

static struct call arguments(const struct tstate *ts) {
    struct call c;
    for (int i = 0; i < 6; i++) {
        c.args[i] = (u32)ts->gpr[from32[i]];
        c.undefined[i] = (u32)ts->vgpr[from32[i]];
    }
    return c;
}

static struct call rearranged(const struct call *in, const char *how) {
    struct call out = {{0}, {0}};
    if (*how == 0) return *in;
    for (u32 i = 0; *how && i < 6; i++, how++) {
        if (*how == '0') continue;
        bool is_signed = *how < 'a';
        u32 k = (u32)(*how - (is_signed ? 'A' : 'a'));
        out.args[i] = is_signed ? (u64)(i64)(int)in->args[k] : in->args[k];
        out.undefined[i] = is_signed ? (u64)(i64)(int)in->undefined[k] : in->undefined[k];
        if (how[1] == '+') {
            k = (u32)(how[2] - 'a');
            out.args[i] |= in->args[k] << 32;
            out.undefined[i] |= in->undefined[k] << 32;
            how += 2;
        } else if (how[1] == '*') {
            out.args[i] *= RT_PAGE;
            out.undefined[i] *= RT_PAGE;
            how++;
        }
    }
    return out;
}

/* ---- by an x86-64 call ------------------------------------------------------------------------------------- */

static void set_vbits(struct tstate *ts, u32 reg, u64 undefined) {
    ts->vgpr[reg] = undefined;
    ts->umask = (ts->umask & ~(1ull << (IP_U_GPR0 + reg))) | (u64)(undefined != 0) << (IP_U_GPR0 + reg);
}

/* With the registers of that call for as long as it takes; a child of fork comes back through here, too.
 * RT_NO_RESULT: the guest has its answer, or the call is to be made again. */
static long same(struct tstate *ts, u64 next_pc, int nr, const struct call *c) {
    u64 gpr[16], vgpr[16], pc = ts->pc;
    memcpy(gpr, ts->gpr, sizeof gpr);
    memcpy(vgpr, ts->vgpr, sizeof vgpr);
    /* vfork's child starts with the registers as they are now. */
    for (int i = 0; i < 6 && nr != __NR_vfork; i++) {
        ts->gpr[rt_syscall_regs[i]] = c->args[i];
        set_vbits(ts, rt_syscall_regs[i], c->undefined[i]);
    }
    rt_syscall_as(ts, nr, next_pc); /* RAX stays: a call that is made again is this one */
    bool answered = ts->pc == next_pc;
    if (!answered && ts->pc != pc) return RT_NO_RESULT; /* the whole state is another one */
    for (u32 r = 0; r < 16; r++) {
        if (r == IP_RAX && answered) continue;
        ts->gpr[r] = gpr[r];
        set_vbits(ts, r, vgpr[r]);
    }
    return RT_NO_RESULT;
}

/* argv and envp are arrays of 32-bit pointers: make wide ones of them below the stack. */
static long widen(struct tstate *ts, u64 *sp, u64 *array) {
    u32 n = 0, word;
    u64 at = *array;
    if (at == 0) return 0;
    do {
        if (rt_copy_from(&word, at + 4ull * n, 4) != 0) return -EFAULT;
        if (++n > MAX_STRINGS) return -E2BIG;
    } while (word);
    *sp -= 8ull * n;
    rt_grow_stack(ts, *sp);
    for (u32 i = 0; i < n; i++) {
        u64 wide = 0;
        rt_copy_from(&wide, at + 4ull * i, 4);
        if (rt_copy_to(*sp + 8ull * i, &wide, 8) != 0) return -E2BIG;
    }
    rt_hook_written(*sp, 8ull * n);
    *array = *sp;
    return 0;
}

static long execute(struct tstate *ts, u64 next_pc, struct call *c) {
    u64 sp = RT_ROUND_DOWN(ts->gpr[IP_RSP] - REDZONE, 16);
    long r = widen(ts, &sp, &c->args[1]);
    if (r == 0) r = widen(ts, &sp, &c->args[2]);
    return r == 0 ? same(ts, next_pc, __NR_execve, c) : r;
}

/* Addresses that a 32-bit register can hold. */
static long low_map(struct tstate *ts, u64 next_pc, struct call *c) {
    if (!(c->args[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE))) c->args[3] |= MAP_32BIT;
    return same(ts, next_pc, __NR_mmap, c);
}

static long old_map(struct tstate *ts, u64 next_pc, const struct call *c) {
    u32 words[6];
    struct call map = {{0}, {0}};
    if (rt_copy_from(words, c->args[0], sizeof words) != 0) return -EFAULT;
    for (int i = 0; i < 6; i++) map.args[i] = words[i];
    if (map.args[5] % RT_PAGE) return -EINVAL;
    return low_map(ts, next_pc, &map);
}

/* ---- by the kernel's i386 call ------------------------------------------------------------------------------ */

static bool has_int80(void) {
    static int has = -1;
    if (has < 0) has = rt_int80(20 /* getpid */) == 0;
    return has;
}

static void defined_outputs(const char *notation, const u64 args[6], long result) {
    struct rt_syscall_arg a;
    for (u32 i = 0; i < 6 && rt_next_arg(&notation, &a); i++) {
        u64 n = rt_size_value(&a.after, args, result);
        if (a.kind == RT_ARG_ADDR_OUT && i < 5) {
            struct rt_size len = {RT_SIZE_DEREF, i + 1, 1};
            n = rt_size_value(&len, args, result);
        } else if (a.kind != RT_ARG_OUT && a.kind != RT_ARG_INOUT) {
            continue;
        }
        if (args[i]) rt_hook_written(args[i], n);
    }
}

static long real(struct tstate *ts, long nr, int nr64, const char *outputs, const u64 args[6]) {
    const struct rt_syscall_info *info = nr64 ? rt_syscall_info(nr64) : NULL;
    u64 without[6];
    if (info && rt_without_ours(nr64, info, args, without)) args = without;
    long r = rt_kernel32(rt_th(ts), nr, args);
    if (r == -EFAULT && rt_have_code_pages()) {
        rt_open_code_pages(ts, 0, rt_client_end());
        r = rt_kernel32(rt_th(ts), nr, args);
    }
    if (r >= 0 && (rt.flags & IP_C_SHADOW)) defined_outputs(outputs, args, r);
    return r;
}

static bool plain_fcntl(u64 command) { /* no struct flock */
    return command <= 4 || command >= 1024 || (command >= 8 && command <= 11);
}

static const struct call32 *find(long nr, struct call32 *common) {
    if (nr >= FIRST_COMMON && nr < LAST_COMMON) {
        *common = (struct call32){(int)nr, true, false, ""};
        return common;
    }
    return nr >= 0 && (u64)nr < COUNT && table[nr].known ? &table[nr] : NULL;
}

static void make_call(struct tstate *ts, u64 next_pc) {
    long nr = (int)ts->gpr[IP_RAX], r;
    struct call c = arguments(ts), other;
    struct call32 common;
    const struct call32 *call = find(nr, &common);
    rt_th(ts)->syscall_restart_pc = ts->pc;
    if (rt_userdispatch(ts, nr, next_pc, SECCOMP_32)) {
        r = RT_NO_RESULT;
    } else if ((rt_th(ts)->filters || rt_th(ts)->strict) && !rt_seccomp(ts, nr, c.args, next_pc, SECCOMP_32, &r)) {
        ; /* answered */
    } else if (nr == NR32_EXECVE) {
        r = execute(ts, next_pc, &c);
    } else if (nr == NR32_MMAP) {
        r = old_map(ts, next_pc, &c);
    } else if (nr == NR32_MMAP2) {
        other = rearranged(&c, call->args);
        r = low_map(ts, next_pc, &other);
    } else if ((nr == NR32_FCNTL || nr == NR32_FCNTL64) && plain_fcntl(c.args[1])) {
        r = same(ts, next_pc, __NR_fcntl, &c);
    } else if (nr == NR32_FCNTL || nr == NR32_FCNTL64) {
        r = real(ts, nr, __NR_fcntl, "", c.args);
    } else if (nr == NR32_CLONE && !(c.args[0] & (CLONE_VM_ | CLONE_SETTLS_))) {
        other = rearranged(&c, "abcde");
        other.args[3] = c.args[4];
        other.args[4] = c.args[3];
        r = same(ts, next_pc, __NR_clone, &other);
    } else if (nr == NR32_SETRLIMIT) {
        r = rt_set_limit32(ts, (u32)c.args[0], c.args[1]);
    } else if (nr == NR32_GETRLIMIT || nr == NR32_UGETRLIMIT) {
        r = rt_get_limit32(ts, (u32)c.args[0], c.args[1], nr == NR32_GETRLIMIT ? 0x7fffffff : 0xffffffff);
    } else if (call == NULL) {
        r = -ENOSYS;
    } else if (call->real) {
        r = real(ts, nr, call->nr64, call->args, c.args);
    } else {
        other = rearranged(&c, call->args);
        r = same(ts, next_pc, call->nr64, &other);
    }
    if (r == RT_INTERRUPTED) rt_trace(ts)->broken = 1;
    if (r == RT_NO_RESULT || r == RT_INTERRUPTED) return;
    rt_trace(ts)->broken = rt_trace(ts)->restart = 0;
    set_vbits(ts, IP_RAX, 0);
    ts->gpr[IP_RAX] = (u64)r;
    ts->pc = next_pc;
}

void rt_syscall32(struct tstate *ts, u64 next_pc) {
    struct rt_trace *t = rt_trace(ts);
    if (!has_int80()) {
        rt_signal_exception(ts, IP_VEC_GP, IP_VEC_INT80 * 8 + 2); /* no gate that user code may call */
        return;
    }
    t->orig_rax = (u32)ts->gpr[IP_RAX];
    t->i386 = 1;
    if (!t->on || traced_entry(ts, &next_pc)) {
        t->in_call = 1;
        make_call(ts, next_pc);
        t->in_call = 0;
    }
    if (t->on) traced_exit(ts);
}

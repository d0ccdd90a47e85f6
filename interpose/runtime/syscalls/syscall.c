/* System calls of the guest: look the number up, let the kernel or a handler
 * answer, set the registers as the kernel would.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/resource.h>
#include <linux/uio.h>

#include "runtime/signals/signals.h"
#include "runtime/memory/memory.h"
#include "runtime/processes/processes.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/hooks.h"
#include "runtime/base/rt_asm.h"
#include "runtime/syscalls/seccomp.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/descriptors.h"
#include "runtime/syscalls/syscall.h"
#include "runtime/ptrace/ptrace.h"

_Static_assert(offsetof(struct rt_thread, pending) == RT_TH_PENDING, "syscall_asm.S");

#define X32_BIT    0x40000000
#define MAX_IOVECS 1024u

/* ---- the table ------------------------------------------------------------------------- */

static long no_such_call(struct tstate *ts) {
    (void)ts;
    return -ENOSYS;
}

#define PASS                                   NULL
#define NOSYS                                  no_such_call
#define SYS(nr, name, handler, args)           [nr] = {#name, #name, handler, args},
#define SYS_AS(nr, name, shown, handler, args) [nr] = {#name, shown, handler, args},
static const struct rt_syscall_info table[] = {
#include "runtime/syscalls/syscalls.def"
};
#undef SYS
#undef SYS_AS

const struct rt_syscall_info *rt_syscall_info(long nr) {
    if (nr < 0 || (u64)nr >= sizeof table / sizeof *table || table[nr].name == NULL) return NULL;
    return &table[nr];
}

/* ---- arguments -------------------------------------------------------------------------- */

static u64 parse_number(const char **p) {
    u64 n = 0;
    for (; **p >= '0' && **p <= '9'; (*p)++) n = n * 10 + (u64)(**p - '0');
    return n;
}

static struct rt_size parse_size(const char **p) {
    struct rt_size s = {RT_SIZE_CONST, 0, 1};
    if (**p == '*' || **p == '$') {
        s.base = **p == '*' ? RT_SIZE_DEREF : RT_SIZE_ARG;
        *p += **p == '*' ? 2 : 1;
        s.arg = (u32)(**p - '0');
        (*p)++;
    } else if (**p == '^') {
        s.base = RT_SIZE_RESULT;
        (*p)++;
    } else {
        s.times = parse_number(p);
        return s;
    }
    if (**p == '*') {
        (*p)++;
        s.times = parse_number(p);
    }
    return s;
}

/* < and > choose between two neighbours of the enum. */
static enum rt_arg_kind direction(const char **p, enum rt_arg_kind in) {
    (*p)++;
    bool out = **p == '>';
    (*p)++;
    return out ? in + 1 : in;
}

static void copy_until(char *out, size_t cap, const char **p, char stop) {
    size_t n = 0;
    for (; **p && **p != stop && **p != ' '; (*p)++)
        if (n + 1 < cap) out[n++] = **p;
    out[n] = 0;
}

bool rt_next_arg(const char **cursor, struct rt_syscall_arg *out) {
    const char *p = *cursor;
    while (*p == ' ') p++;
    if (*p == 0 || *p == '-') return false;
    memset(out, 0, sizeof *out);
    copy_until(out->name, sizeof out->name, &p, ':');
    for (p++; *p == '?' || *p == '~'; p++) {
        if (*p == '?')
            out->maybe_null = true;
        else
            out->conditional = true;
    }
    switch (*p) {
    case 'd':
        out->kind = RT_ARG_32;
        p++;
        break;
    case 'f':
        out->kind = RT_ARG_FD;
        p++;
        break;
    case 'F':
        out->kind = RT_ARG_FOLDER;
        p++;
        break;
    case 'q':
        out->kind = RT_ARG_64;
        p++;
        break;
    case 's':
        out->kind = RT_ARG_STRING;
        p++;
        break;
    case '<':
        out->kind = RT_ARG_IN;
        p++;
        break;
    case '>':
        out->kind = RT_ARG_OUT;
        p++;
        break;
    case '=':
        out->kind = RT_ARG_INOUT;
        p++;
        break;
    case 'V': out->kind = direction(&p, RT_ARG_IOV_IN); break;
    case 'M': out->kind = direction(&p, RT_ARG_MSG_IN); break;
    case 'A': out->kind = direction(&p, RT_ARG_ADDR_IN); break;
    default:
        out->kind = RT_ARG_SPECIAL;
        p++;
        break;
    }
    if (*p && *p != ' ' && *p != '@') out->size = parse_size(&p);
    out->after = out->size;
    if (*p == '!') {
        p++;
        out->after = parse_size(&p);
    }
    if (*p == '@') {
        p++;
        copy_until(out->report, sizeof out->report, &p, ' ');
    }
    *cursor = p;
    return true;
}

const struct rt_syscall_described *rt_syscall_described(const struct rt_syscall_info *info) {
    static struct rt_syscall_described all[sizeof table / sizeof *table];
    static u8 known[sizeof table / sizeof *table];
    u64 nr = (u64)(info - table);
    if (rt_unlikely(!__atomic_load_n(&known[nr], __ATOMIC_ACQUIRE))) {
        const char *cursor = info->args;
        struct rt_syscall_described d;
        memset(&d, 0, sizeof d);
        for (; d.n < 6 && rt_next_arg(&cursor, &d.args[d.n]); d.n++)
            if (d.args[d.n].kind == RT_ARG_FD || d.args[d.n].kind == RT_ARG_FOLDER) d.descriptors |= 1u << d.n;
        /* Without a lock, which a fork might find taken: who comes at the same time writes the same. */
        memcpy(&all[nr], &d, sizeof d);
        __atomic_store_n(&known[nr], 1, __ATOMIC_RELEASE);
    }
    return &all[nr];
}

bool rt_returns_fd(const struct rt_syscall_info *info) {
    u64 n = rt_strlen(info->args);
    return n >= 3 && rt_strcmp(info->args + n - 3, "->f") == 0;
}

void rt_args_taken(const struct rt_syscall_described *d, const u64 args[6], u64 taken[6]) {
    for (u32 i = 0; i < 6; i++) taken[i] = i < d->n && rt_arg_is_narrow(d->args[i].kind) ? (u32)args[i] : args[i];
}

u64 rt_size_value(const struct rt_size *s, const u64 args[6], long result) {
    u64 v = 1;
    switch (s->base) {
    case RT_SIZE_CONST: break;
    case RT_SIZE_ARG: v = args[s->arg]; break;
    case RT_SIZE_DEREF: {
        u32 word;
        if (rt_copy_from(&word, args[s->arg], sizeof word) != 0) return 0;
        v = word;
        break;
    }
    case RT_SIZE_RESULT: v = result < 0 ? 0 : (u64)result; break;
    }
    u64 product;
    return __builtin_mul_overflow(v, s->times, &product) ? ~0ull : product;
}

/* ---- pages the kernel will write to ------------------------------------------------------- */

static void open_iovecs(struct tstate *ts, u64 at, u64 count) {
    struct iovec v;
    for (u64 i = 0; i < count && i < MAX_IOVECS; i++) {
        if (rt_copy_from(&v, at + i * sizeof v, sizeof v) != 0) return;
        rt_open_code_pages(ts, (u64)v.iov_base, v.iov_len);
    }
}

static void open_outputs(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 given[6]) {
    const struct rt_syscall_described *d = rt_syscall_described(info);
    u64 args[6];
    rt_args_taken(d, given, args);
    if (nr == __NR_process_vm_writev && (u32)args[0] == rt.pid) open_iovecs(ts, args[3], args[4]);
    for (u32 i = 0; i < d->n; i++) {
        const struct rt_syscall_arg *a = &d->args[i];
        u64 msg[7];
        switch (a->kind) {
        case RT_ARG_OUT:
        case RT_ARG_INOUT: rt_open_code_pages(ts, args[i], rt_size_value(&a->size, args, 0)); break;
        case RT_ARG_IOV_OUT: open_iovecs(ts, args[i], rt_size_value(&a->size, args, 0)); break;
        case RT_ARG_MSG_OUT: /* struct msghdr: name, namelen, iov, iovlen, control, controllen, flags */
            rt_open_code_pages(ts, args[i], sizeof msg);
            if (rt_copy_from(msg, args[i], sizeof msg) == 0) {
                rt_open_code_pages(ts, msg[0], (u32)msg[1]);
                open_iovecs(ts, msg[2], msg[3]);
                rt_open_code_pages(ts, msg[4], msg[5]);
            }
            break;
        case RT_ARG_ADDR_OUT:
            if (i < 5) {
                struct rt_size len = {RT_SIZE_DEREF, i + 1, 1};
                rt_open_code_pages(ts, args[i], rt_size_value(&len, args, 0));
            }
            break;
        case RT_ARG_SPECIAL: /* most often a struct behind the pointer */
            rt_open_code_pages(ts, args[i], RT_PAGE);
            break;
        default: break;
        }
    }
}

/* ---- the call ------------------------------------------------------------------------------- */

static void finish(struct tstate *ts, long nr, const u64 args[6], long r, u64 next_pc) {
    rt_trace(ts)->broken = r == RT_INTERRUPTED;
    if (r != RT_INTERRUPTED) rt_trace(ts)->restart = 0;
    if (r == RT_INTERRUPTED || r == RT_NO_RESULT) return;
    if (rt_unlikely(rt_th(ts)->debug_broke)) rt_debug_broke(ts, nr, r, next_pc);
    if (rt.chan->shows & IP_SHOW_CALLS) rt_show_answer(ts, nr, r);
    if (r >= 0) rt_files_after(ts, nr, args, r);
    const struct rt_syscall_info *info = rt.flags & RT_FOLLOW_FDS ? rt_syscall_info(nr) : NULL;
    if (info != NULL) r = rt_fds_after(ts, nr, info, args, r);
    rt_hook_syscall_after(ts, nr, args, r);
    ts->gpr[IP_RAX] = (u64)r;
    ts->gpr[IP_RCX] = next_pc;
    ts->gpr[IP_R11] = ts->rflags | (rt_th(ts)->trap_flag ? FL_TF : 0);
    ts->pc = next_pc;
}

/* The program's filters, or its end, answer the call. */
static bool answered(struct tstate *ts, long nr, u64 next_pc) {
    struct rt_thread *th = rt_th(ts);
    u64 args[6];
    long r;
    if (!rt.final_calls && !th->filters && !th->strict && !th->user_dispatch) return false;
    if (!rt.final_calls && rt_userdispatch(ts, nr, next_pc, SECCOMP_64)) return true;
    rt_syscall_args(ts, args);
    th->syscall_restart_pc = ts->pc;
    th->syscall_nr = (u64)nr;
    if (rt.final_calls ? !process_keeps_quiet(ts, nr, args, &r) : rt_seccomp(ts, nr, args, next_pc, SECCOMP_64, &r))
        return false;
    finish(ts, nr, args, r, next_pc);
    return true;
}

static void call(struct tstate *ts, u64 next_pc) {
    struct rt_trace *t = rt_trace(ts);
    t->orig_rax = ts->gpr[IP_RAX];
    t->i386 = 0;
    rt_th(ts)->ss = 0;
    if (!t->on || traced_entry(ts, &next_pc)) {
        long nr = (int)ts->gpr[IP_RAX]; /* the kernel looks at 32 bits, too */
        t->in_call = 1;
        if (!answered(ts, nr, next_pc))
            rt_syscall_as(ts, (int)ts->gpr[IP_RAX], next_pc); /* a tracer may have changed it */
        t->in_call = 0;
    }
    if (t->on) traced_exit(ts);
}

void rt_syscall(struct tstate *ts, u64 next_pc) {
    u64 pc = ts->pc, rax = ts->gpr[IP_RAX], args[6];
    bool watched = false;
    if (rt_debugged()) {
        rt_debug_call(ts, next_pc);
        watched = rt.chan->debug & IP_DBG_WATCH;
        if (watched) rt_syscall_args(ts, args);
    }
    if (rt_pc(ts->pc) != rt_pc(pc)) return; /* a debugger has taken it elsewhere */
    call(ts, next_pc);
    if (rt_th(ts)->debug_in_call) rt_debug_called(ts, rax, pc);
    if (rt_th(ts)->debug_born) rt_debug_born(ts);
    if (watched && rt_pc(ts->pc) == rt_pc(next_pc)) rt_syscall_touched(ts, (int)rax, args, (long)ts->gpr[IP_RAX]);
}

bool rt_is_no_descriptor(int fd) {
    struct rlimit64 limit;
    if (fd >= 0 && fd < 1024) return false; /* by far most */
    return fd < 0 || (sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit) == 0 && (u64)fd >= limit.rlim_max);
}

/* The calls that Valgrind warns of; the first bad descriptor is told. */
static void warn_descriptor(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6]) {
    int fd = (int)args[0];
    const char *name = info->in_messages, *which = "";
    char first = 0;
    switch (nr) {
    case __NR_openat:
    case __NR_execveat:
        if (fd == AT_FDCWD || rt_copy_from(&first, args[1], 1) != 0 || first == '/') return;
        break;
    case __NR_dup2:
    case __NR_dup3: fd = (int)args[1]; break;
    case __NR_vmsplice:
        name = "vmsplice";
        which = "(fd)";
        break;
    case __NR_splice:
    case __NR_tee:
    case __NR_copy_file_range:
        which = rt_is_no_descriptor(fd) ? "(fd_in)" : "(fd_out)";
        if (which[4] == 'o') fd = (int)args[nr == __NR_tee ? 1 : 2];
        break;
    case __NR_read:
    case __NR_write:
    case __NR_close:
    case __NR_readv:
    case __NR_writev:
    case __NR_preadv:
    case __NR_pwritev:
    case __NR_preadv2:
    case __NR_pwritev2:
    case __NR_readahead:
    case __NR_sync_file_range:
    case __NR_fallocate:
    case __NR_timerfd_settime:
    case __NR_timerfd_gettime: break;
    default: return;
    }
    if (rt_is_no_descriptor(fd)) rt_warn(ts, "Warning: invalid file descriptor %d in syscall %s%s()", fd, name, which);
}

void rt_syscall_as(struct tstate *ts, long nr, u64 next_pc) {
    struct rt_thread *th = rt_th(ts);
    u64 args[6], without[6];
    long r;
    rt_syscall_args(ts, args);
    th->syscall_restart_pc = ts->pc;
    th->syscall_nr = (u64)nr;

    const struct rt_syscall_info *info = rt_syscall_info(nr);
    /* The kernel grows a stack under its own accesses; ours would be EFAULT. */
    if (ts->gpr[IP_RSP] < rt.stack_lo && ts->gpr[IP_RSP] >= rt.stack_end) rt_grow_stack(ts, ts->gpr[IP_RSP]);
    if (info != NULL && rt_tells_misuse()) warn_descriptor(ts, nr, info, args);
    if (info != NULL && (rt.flags & RT_FOLLOW_FDS)) rt_fds_before(ts, nr, info, args);
    if (rt.chan->shows & IP_SHOW_CALLS) rt_show_call(ts, nr, info, args);
    rt_hook_syscall_before(ts, nr, args);
    if (info != NULL && rt_have_code_pages()) open_outputs(ts, nr, info, args);
    const u64 *given = args;
    if (info != NULL && rt_without_ours(nr, info, args, without)) rt_set_syscall_args(ts, given = without);
    if (info != NULL && info->handler != NULL)
        r = info->handler(ts);
    else if (nr & X32_BIT)
        r = -ENOSYS;
    else
        r = sig_wait_here(ts, nr, given);
    if (r == -EFAULT && rt_have_code_pages() && (info == NULL || info->handler == NULL || nr == __NR_ioctl)) {
        /* An output the table does not describe (ioctl) may have met such a page. */
        rt_open_code_pages(ts, 0, rt_client_end());
        r = sig_wait_here(ts, nr, given);
    }
    if (given != args) rt_set_syscall_args(ts, args);
    finish(ts, nr, args, r, next_pc);
}

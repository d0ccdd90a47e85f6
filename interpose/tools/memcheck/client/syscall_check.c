/* System-call arguments under memcheck: what the kernel reads must be
 * addressable and defined, what it writes addressable; afterwards it is
 * defined.  What each call reads and writes stands in runtime/syscalls.def;
 * here is the code for the kinds of that table, and for the calls (type X)
 * whose memory depends on other arguments.
 */
#include <asm/unistd.h>
#include <linux/errno.h>

#include "tools/memcheck/client/memcheck.h"
#include "tools/memcheck/client/io_uring.h"
#include "shadow/origin.h"
#include "runtime/syscalls/syscall.h"
#include "tools/memcheck/client/syscall_uses.h"

#define TIMEX_BYTES 208 /* struct timex */

static const u8 arg_reg[6] = {IP_RDI, IP_RSI, IP_RDX, IP_R10, IP_R8, IP_R9};

struct call {
    struct tstate *ts;
    const struct rt_syscall_info *info;
    const u64 *args;
    long nr;
    u32 origin; /* of the register under test */
};

static void report(struct call *c, int kind, const char *name, const char *field, u64 addr) {
    if (kind != MC_E_PARAM_UNADDR && !(rt.flags & IP_C_UNDEF)) return;
    struct ip_error *e = rt_error_begin(c->ts, kind);
    /* In the kernel the program counter is that of the next instruction; the
     * line of an inlined wrapper may differ. */
    e->pc = e->frames[0] = (e->pc & IP_KEY_PC) + 2;
    e->addr = addr;
    if (kind == MC_E_PARAM_UNDEF) e->otag = origin_of_memory(c->ts, addr);
    if (kind == MC_E_PARAM_REG) e->otag = c->origin;
    /* A report name of the table is whole ("socketcall.send(buf)"). */
    if (name[0] && rt_strlen(name) > 2 && name[rt_strlen(name) - 1] == ')')
        rt_snprintf((char *)e->text, sizeof e->text, "%s", name);
    else
        rt_snprintf((char *)e->text, sizeof e->text, "%s(%s%s)", c->info->in_messages, name, field);
    rt_error_end(c->ts, e);
}

static void reads(struct call *c, u64 addr, u64 n, const char *name, const char *field) {
    u64 bad;
    if (rt_shadow_unaddr(c->ts, addr, n, &bad))
        report(c, MC_E_PARAM_UNADDR, name, field, bad);
    else if (rt_shadow_undef(addr, n, &bad))
        report(c, MC_E_PARAM_UNDEF, name, field, bad);
}

static void writes(struct call *c, u64 addr, u64 n, const char *name, const char *field) {
    u64 bad;
    if (rt_shadow_unaddr(c->ts, addr, n, &bad)) report(c, MC_E_PARAM_UNADDR, name, field, bad);
}

/* The string up to its NUL. */
static void reads_string(struct call *c, u64 addr, const char *name, const char *field) {
    char part[64];
    for (u64 at = addr;;) {
        u64 n = sizeof part - at % sizeof part, len = 0;
        if (rt_copy_from(part, at, n) < 0) {
            reads(c, at, 1, name, field);
            return;
        }
        while (len < n && part[len]) len++;
        bool end = len < n;
        u64 bad;
        if (rt_shadow_unaddr(c->ts, at, len + end, &bad) || rt_shadow_undef(at, len + end, &bad)) {
            reads(c, bad, 1, name, field);
            return;
        }
        if (end) return;
        at += n;
    }
}

/* Defined after the call; never makes the unaddressable addressable. */
static void defines(struct tstate *ts, u64 addr, u64 n) {
    if (n == 0 || n > (1ull << 32)) return;
    for (u64 bad, stop, end = addr + n; rt_shadow_undef_only(ts, addr, end - addr, &bad); addr = stop) {
        if (!rt_shadow_unaddr(ts, bad, end - bad, &stop)) stop = end;
        rt_shadow_set(bad, stop - bad, RT_SH_DEFINED);
    }
}

/* ---- Vectors and messages -------------------------------------------------------- */

struct iovec {
    u64 base, len;
};
#define MAX_IOVS 1024

/* numbered: the report says which element. */
static void iovecs(struct call *c, u64 at, u64 n, bool in, const char *vec, const char *field, bool numbered) {
    if (n > MAX_IOVS) n = MAX_IOVS;
    reads(c, at, n * sizeof(struct iovec), vec, "");
    for (u64 i = 0; i < n; i++) {
        struct iovec v;
        char name[40], which[24] = "...";
        if (rt_copy_from(&v, at + i * sizeof v, sizeof v) < 0) return;
        if (numbered) rt_snprintf(which, sizeof which, "%lu", i);
        rt_snprintf(name, sizeof name, "%s[%s]", field, which);
        if (in)
            reads(c, v.base, v.len, name, "");
        else
            writes(c, v.base, v.len, name, "");
    }
}

static void iovecs_defined(struct tstate *ts, u64 at, u64 n, u64 bytes) {
    for (u64 i = 0; i < n && i < MAX_IOVS && bytes; i++) {
        struct iovec v;
        if (rt_copy_from(&v, at + i * sizeof v, sizeof v) < 0) return;
        u64 take = v.len < bytes ? v.len : bytes;
        defines(ts, v.base, take);
        bytes -= take;
    }
}

enum { MSG_NAME, MSG_NAMELEN, MSG_IOV, MSG_IOVLEN, MSG_CONTROL, MSG_CONTROLLEN, MSG_FLAGS };

static void message(struct call *c, u64 at, bool in, const char *name) {
    u64 m[7];
    reads(c, at, 12, name, ".msg_name");
    reads(c, at + 16, 32, name, ".msg_iov");
    if (rt_copy_from(m, at, sizeof m) < 0) return;
    if (in) {
        if (m[MSG_NAME]) reads(c, m[MSG_NAME], (u32)m[MSG_NAMELEN], name, ".msg_name");
        iovecs(c, m[MSG_IOV], m[MSG_IOVLEN], true, "msg.msg_iov", "msg.msg_iov", true);
        /* Padding between control messages is nobody's: only addressable. */
        if (m[MSG_CONTROL]) writes(c, m[MSG_CONTROL], m[MSG_CONTROLLEN], name, ".msg_control");
    } else {
        if (m[MSG_NAME]) writes(c, m[MSG_NAME], (u32)m[MSG_NAMELEN], name, ".msg_name");
        iovecs(c, m[MSG_IOV], m[MSG_IOVLEN], false, "msg.msg_iov", "msg.msg_iov", true);
        if (m[MSG_CONTROL]) writes(c, m[MSG_CONTROL], m[MSG_CONTROLLEN], name, ".msg_control");
    }
}

static void message_received(struct tstate *ts, u64 at, long result) {
    u64 m[7];
    if (rt_copy_from(m, at, sizeof m) < 0) return;
    defines(ts, at + 8, 4);
    defines(ts, at + 40, 12);
    if (m[MSG_NAME]) defines(ts, m[MSG_NAME], (u32)m[MSG_NAMELEN]);
    iovecs_defined(ts, m[MSG_IOV], m[MSG_IOVLEN], (u64)result);
    if (m[MSG_CONTROL]) defines(ts, m[MSG_CONTROL], m[MSG_CONTROLLEN]);
}

/* The family, and of what follows as much as the family uses: Valgrind's rule
 * for sockaddr_un is the path up to its NUL. */
static void socket_address(struct call *c, u64 at, u64 n, const char *name) {
    u16 family = 0;
    reads(c, at, n < 2 ? n : 2, name, "");
    if (n < 2 || rt_copy_from(&family, at, 2) < 0) return;
    if (family == 1 /* AF_UNIX */) {
        for (u64 i = 2; i < n; i++) {
            char b = 0;
            reads(c, at + i, 1, name, "");
            if (rt_copy_from(&b, at + i, 1) < 0 || (b == 0 && i > 2)) break;
        }
    } else if (family == 2 /* AF_INET: port and address, not the padding */) {
        reads(c, at + 2, n < 8 ? n - 2 : 6, name, "");
    } else if (family == 10 /* AF_INET6 */) {
        reads(c, at + 2, n < 24 ? n - 2 : 22, name, "");
    } else {
        writes(c, at, n, name, "");
    }
}

/* ---- Calls with code of their own ----------------------------------------------------- */

struct pollfd {
    u32 fd;
    u16 events, revents;
};

static void poll_in(struct call *c, u64 at, u64 n) {
    if (n > 65536) return;
    for (u64 i = 0; i < n; i++) {
        reads(c, at + i * 8, 4, "ufds.fd", "");
        reads(c, at + i * 8 + 4, 2, "ufds.events", "");
        writes(c, at + i * 8 + 6, 2, "ufds.revents", "");
    }
}

static void fd_sets_in(struct call *c) {
    static const char *const names[3] = {"readfds", "writefds", "exceptfds"};
    u64 bytes = ((c->args[0] & 0xffffffff) + 63) / 64 * 8;
    for (int i = 0; i < 3; i++)
        if (c->args[1 + i] && bytes <= 8192) reads(c, c->args[1 + i], bytes, names[i], "");
}

/* argv or envp. */
static void strings(struct call *c, u64 at, const char *name) {
    for (u64 p = at, s;; p += 8) {
        reads(c, p, 8, name, "");
        if (rt_copy_from(&s, p, 8) < 0 || !s) return;
        reads_string(c, s, name, "[i]");
    }
}

/* Where argv is nowhere, no more is looked at; a first string that is nowhere has a name of its own. */
static void program_strings(struct call *c, u64 argv, u64 envp) {
    u64 first = 0, bad;
    if (rt_shadow_unaddr(c->ts, argv, 8, &bad) || rt_copy_from(&first, argv, 8) < 0) {
        reads(c, argv, 8, "argv", "");
        return;
    }
    if (first && rt_shadow_unaddr(c->ts, first, 1, &bad)) {
        reads(c, argv, 8, "argv", "");
        reads(c, first, 1, "argv", "[0]");
    } else {
        strings(c, argv, "argv");
    }
    if (envp) strings(c, envp, "envp");
}

/* struct itimerval, whose halves are named. */
static void timer_halves(struct call *c, u64 at, const char *name, bool in) {
    static const char *const half[2] = {"->it_interval", "->it_value"};
    char pointer[16];
    rt_snprintf(pointer, sizeof pointer, "&%s", name);
    for (u64 i = 0; i < 2; i++)
        if (in)
            reads(c, at + 16 * i, 16, pointer, half[i]);
        else
            writes(c, at + 16 * i, 16, pointer, half[i]);
}

/* utimensat: the seconds count only beside real nanoseconds. */
static void two_times(struct call *c, u64 at) {
    for (int i = 0; i < 2; i++, at += 16) {
        char name[24];
        u64 nsec = 0;
        rt_snprintf(name, sizeof name, "times[%d].tv_nsec", i);
        reads(c, at + 8, 8, name, "");
        if (rt_copy_from(&nsec, at + 8, 8) < 0 || nsec == (1u << 30) - 1 || nsec == (1u << 30) - 2)
            continue; /* UTIME_NOW, UTIME_OMIT */
        rt_snprintf(name, sizeof name, "times[%d].tv_sec", i);
        reads(c, at, 8, name, "");
    }
}

/* Bytes that an ioctl reads and writes: from its number where that says it. */
static void ioctl_size(u64 request, u64 *in, u64 *out) {
    u32 dir = (u32)request >> 30, size = (u32)request >> 16 & 0x3fff;
    *in = *out = 0;
    if ((u32)request == 0x40049409) return; /* FICLONE: the argument is a descriptor */
    if (dir) {
        *in = dir & 1 ? size : 0;
        *out = dir & 2 ? size : 0;
        return;
    }
    switch (request & 0xffff) {
    case 0x5401: *out = 36; break; /* TCGETS */
    case 0x5402:
    case 0x5403:
    case 0x5404: *in = 36; break; /* TCSETS* */
    case 0x540f:
    case 0x5429:
    case 0x541b:
    case 0x5411:
    case 0x5415:
    case 0x5424:
    case 0x5430: *out = 4; break; /* TIOCGPGRP GSID FIONREAD OUTQ MGET GETD GPTN */
    case 0x5410:
    case 0x5421:
    case 0x5452:
    case 0x5416:
    case 0x5417:
    case 0x5418:
    case 0x5423: *in = 4; break;  /* TIOCSPGRP FIONBIO FIOASYNC MBIS MBIC MSET SETD */
    case 0x5413: *out = 8; break; /* TIOCGWINSZ */
    case 0x5414: *in = 8; break;  /* TIOCSWINSZ */
    default:
        if ((request & 0xff00) == 0x8900) *out = 40; /* SIOCG*: ifreq */
        break;
    }
}

/* What clock_adjtime reads: the fields that its modes name. */
static void adjustments(struct call *c, u64 at, const char *name) {
    static const struct {
        u16 modes;
        u8 at, size;
    } fields[] = {
        {0x8001, 8, 8},  {0x0002, 16, 8}, {0x0004, 24, 8},  {0x0008, 32, 8}, /* offset freq maxerror esterror */
        {0x0010, 40, 4}, {0x00a0, 48, 8}, {0x0100, 72, 16}, {0x4000, 88, 8}, /* status constant time tick */
    };
    u32 modes = 0;
    reads(c, at, 4, name, "");
    if (rt_copy_from(&modes, at, 4) < 0) return;
    for (u32 k = 0; k < sizeof fields / sizeof *fields; k++)
        if (modes & fields[k].modes) reads(c, at + fields[k].at, fields[k].size, name, "");
    writes(c, at, TIMEX_BYTES, name, "");
}

static void special_in(struct call *c, u32 i, const char *name) {
    const u64 *a = c->args;
    switch (c->nr) {
    case __NR_poll:
    case __NR_ppoll: poll_in(c, a[0], a[1]); break;
    case __NR_select:
    case __NR_pselect6:
        if (i == 1) fd_sets_in(c);
        break;
    case __NR_execve:
        if (i == 2) program_strings(c, a[1], a[2]);
        break;
    case __NR_getitimer:
    case __NR_setitimer: timer_halves(c, a[i], name, i == 1 && c->nr == __NR_setitimer); break;
    case __NR_execveat:
        if (i == 3) program_strings(c, a[2], a[3]);
        break;
    case __NR_rt_sigaction:
        if (a[1]) {
            reads(c, a[1], 8, "act->sa_handler", "");
            reads(c, a[1] + 24, 8, "act->sa_mask", "");
            reads(c, a[1] + 8, 8, "act->sa_flags", "");
        }
        break;
    case __NR_sigaltstack:
        if (a[0]) {
            reads(c, a[0], 12, "ss", "");
            reads(c, a[0] + 16, 8, "ss", "");
        }
        break;
    case __NR_ioctl: {
        u64 in, out;
        ioctl_size(a[1], &in, &out);
        if (in) reads(c, a[2], in, "generic", "");
        if (out) writes(c, a[2], out, "generic", "");
        break;
    }
    case __NR_utimensat: two_times(c, a[2]); break;
    case __NR_adjtimex:
    case __NR_clock_adjtime: adjustments(c, a[i], name); break;
    case __NR_mq_open:
        if (a[1] & 0100 /* O_CREAT */) reads(c, a[3] + 8, 16, name, ""); /* mq_maxmsg, mq_msgsize */
        break;
    case __NR_epoll_ctl:
        /* Either half of the data may be unused: only the events are read for sure. */
        if (a[1] != 2 && a[3]) reads(c, a[3], 4, name, "");
        break;
    case __NR_futex:
        if (i == 0) writes(c, a[0], 4, name, "");
        if (i == 3 && a[3] && sh_futex_waits(a[1])) reads(c, a[3], 16, "timeout", "");
        if (i == 4) writes(c, a[4], 4, "futex2", "");
        break;
    case __NR_msgsnd: reads(c, a[1], 8 + a[2], "msgp->mtext", ""); break;
    case __NR_msgrcv: writes(c, a[1], 8 + a[2], "msgp->mtext", ""); break;
    default: break;
    }
}

static void special_out(struct call *c, u32 i, long result) {
    const u64 *a = c->args;
    struct tstate *ts = c->ts;
    switch (c->nr) {
    case __NR_poll:
    case __NR_ppoll:
        for (u64 k = 0; k < a[1] && k < 65536; k++) defines(ts, a[0] + 8 * k + 6, 2);
        break;
    case __NR_ioctl: {
        u64 in, out;
        ioctl_size(a[1], &in, &out);
        if (out) defines(ts, a[2], out);
        break;
    }
    case __NR_getitimer: defines(ts, a[1], 32); break;
    case __NR_setitimer:
        if (i == 2) defines(ts, a[2], 32);
        break;
    case __NR_mincore: defines(ts, a[2], (a[1] + 4095) / 4096); break;
    case __NR_fcntl:
        if (i == 2 && (a[1] == 5 || a[1] == 36)) defines(ts, a[2], 32); /* F_GETLK, F_OFD_GETLK */
        if (i == 2 && a[1] == 16) defines(ts, a[2], 8);                 /* F_GETOWN_EX */
        break;
    case __NR_shmctl: defines(ts, a[2], a[1] == 2 ? 112 : a[1] == 3 ? 72 : a[1] == 14 ? 48 : 0); break;
    case __NR_msgctl: defines(ts, a[2], a[1] == 2 ? 120 : a[1] == 3 ? 32 : 0); break;
    case __NR_semctl:
        if (i == 3 && (a[2] & ~0x100ull) == 2) defines(ts, a[3], 104); /* IPC_STAT */
        break;
    case __NR_msgrcv: defines(ts, a[1], 8 + (u64)result); break;
    case __NR_capget: defines(ts, a[1], 24); break;
    case __NR_adjtimex:
    case __NR_clock_adjtime: defines(ts, a[i], TIMEX_BYTES); break;
    case __NR_prctl:
        if (i != 1) break;
        if (a[0] == 16) defines(ts, a[1], 16); /* PR_GET_NAME */
        if (a[0] == 2 || a[0] == 9 || a[0] == 11 || a[0] == 37 || a[0] == 25 || a[0] == 19) defines(ts, a[1], 4);
        if (a[0] == 40) defines(ts, a[1], 8); /* PR_GET_TID_ADDRESS */
        break;
    case __NR_arch_prctl:
        if (a[0] == 0x1003 || a[0] == 0x1004 || a[0] == 0x1021 || a[0] == 0x1022 || a[0] == 0x1024)
            defines(ts, a[1], 8);
        break;
    case __NR_get_mempolicy: defines(ts, a[1], (a[2] + 7) / 8); break;
    case __NR_name_to_handle_at:
        if (i == 2) {
            u32 n = 0;
            rt_copy_from(&n, a[2], 4);
            defines(ts, a[2], 8 + (u64)n);
        }
        break;
    case __NR_recvmmsg:
        for (long k = 0; i == 1 && k < result && k < 1024; k++) {
            u32 got = 0;
            rt_copy_from(&got, a[1] + (u64)k * 64 + 56, 4);
            message_received(ts, a[1] + (u64)k * 64, got);
            defines(ts, a[1] + (u64)k * 64 + 56, 4);
        }
        break;
    case __NR_ptrace:
        if (i == 3 && (a[0] == 1 || a[0] == 2 || a[0] == 3)) defines(ts, a[3], 8);
        if (i == 3 && a[0] == 12) defines(ts, a[3], 216);
        if (i == 3 && a[0] == 0x4202) defines(ts, a[3], 128);
        if (i == 3 && (a[0] == 0x4201 || a[0] == 0x420a)) defines(ts, a[3], 8); /* event message, mask */
        if (i == 3 && a[0] == 14) defines(ts, a[3], 512);                       /* PTRACE_GETFPREGS */
        if (i == 3 && a[0] == 0x420e) defines(ts, a[3], a[2] < (u64)result ? a[2] : (u64)result);
        if (i == 3 && a[0] == 0x4204) { /* PTRACE_GETREGSET: an iovec, whose length says how much came */
            struct iovec v;
            defines(ts, a[3], sizeof v);
            if (rt_copy_from(&v, a[3], sizeof v) == 0) defines(ts, v.base, v.len);
        }
        break;
    case __NR_sysfs:
        if (i == 2) {
            for (u64 k = 0; k < 64; k++) {
                char b;
                if (rt_copy_from(&b, a[2] + k, 1) < 0) break;
                defines(ts, a[2] + k, 1);
                if (!b) break;
            }
        }
        break;
    default: break;
    }
}

/* ---- Arguments in use -------------------------------------------------------------------- */

static bool is_narrow(const struct call *c, u32 i, u32 kind) {
    return kind == RT_ARG_32 || (c->nr == __NR_futex && (i == 2 || i == 5 || (i == 3 && !sh_futex_waits(c->args[1]))));
}

/* Reports of these say which vector it is. */
static bool numbers_vectors(long nr) {
    return nr == __NR_readv || nr == __NR_writev || nr == __NR_preadv || nr == __NR_pwritev || nr == __NR_preadv2 ||
           nr == __NR_pwritev2;
}

/* ---- Registers -------------------------------------------------------------------------- */

static void check_register(struct call *c, u32 reg, bool narrow, const char *name) {
    u64 v = c->ts->vgpr[reg];
    if (narrow) v &= 0xffffffff;
    if (v) c->origin = origin_of_gpr(c->ts, reg);
    if (v) report(c, MC_E_PARAM_REG, name, "", 0);
    if (v) {
        c->ts->vgpr[reg] = 0; /* once is enough */
        c->ts->umask &= ~(1ull << (IP_U_GPR0 + reg));
    }
}

void mc_syscall_before(struct tstate *ts, long nr, const u64 args[6]) {
    const struct rt_syscall_info *info = rt_syscall_info(nr);
    if (!info) return;
    uring_before(nr, args, defines, ts);
    struct call c = {ts, info, args, nr, 0};
    const char *cursor = info->args;
    struct rt_syscall_arg a;
    bool any = (ts->umask & 0xffff) != 0;
    for (u32 i = 0; i < 6 && rt_next_arg(&cursor, &a); i++) {
        const char *name = a.report[0] ? a.report : a.name;
        if (!sh_syscall_uses(nr, args, i)) continue;
        if (any && !a.conditional) check_register(&c, arg_reg[i], is_narrow(&c, i, a.kind), a.name);
        if (a.maybe_null && !args[i]) continue;
        u64 n = rt_size_value(&a.size, args, 0);
        switch (a.kind) {
        case RT_ARG_STRING: reads_string(&c, args[i], name, ""); break;
        case RT_ARG_IN: reads(&c, args[i], n, name, ""); break;
        case RT_ARG_INOUT: reads(&c, args[i], n, name, ""); break;
        case RT_ARG_OUT: writes(&c, args[i], n, name, ""); break;
        case RT_ARG_IOV_IN: iovecs(&c, args[i], n, true, name, name, numbers_vectors(nr)); break;
        case RT_ARG_IOV_OUT: iovecs(&c, args[i], n, false, name, name, numbers_vectors(nr)); break;
        case RT_ARG_MSG_IN:
            if (args[i]) message(&c, args[i], true, name);
            break;
        case RT_ARG_MSG_OUT:
            if (args[i]) message(&c, args[i], false, name);
            break;
        case RT_ARG_ADDR_IN:
            if (args[i]) socket_address(&c, args[i], n, name);
            break;
        case RT_ARG_ADDR_OUT: {
            u32 len = 0;
            if (args[i] && i < 5 && rt_copy_from(&len, args[i + 1], 4) == 0) writes(&c, args[i], len, name, "");
            break;
        }
        case RT_ARG_SPECIAL: special_in(&c, i, name); break;
        default: break;
        }
    }
}

static void result_defined(struct tstate *ts) {
    static const u8 regs[3] = {IP_RAX, IP_RCX, IP_R11};
    for (int i = 0; i < 3; i++) {
        ts->vgpr[regs[i]] = 0;
        ts->umask &= ~(1ull << (IP_U_GPR0 + regs[i]));
    }
}

void mc_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result) {
    const struct rt_syscall_info *info = rt_syscall_info(nr);
    result_defined(ts);
    if (!info || (result < 0 && result >= -4095 && result != -EINTR)) return;
    if (result < 0 && nr != __NR_nanosleep && nr != __NR_clock_nanosleep) return;
    uring_after(nr, args, result);
    struct call c = {ts, info, args, nr, 0};
    const char *cursor = info->args;
    struct rt_syscall_arg a;
    for (u32 i = 0; i < 6 && rt_next_arg(&cursor, &a); i++) {
        if (!args[i]) continue;
        u64 n = rt_size_value(&a.after, args, result);
        switch (a.kind) {
        case RT_ARG_OUT:
        case RT_ARG_INOUT: defines(ts, args[i], n); break;
        case RT_ARG_IOV_OUT: iovecs_defined(ts, args[i], rt_size_value(&a.size, args, result), (u64)result); break;
        case RT_ARG_MSG_OUT: message_received(ts, args[i], result); break;
        case RT_ARG_ADDR_OUT: {
            u32 len = 0;
            if (i < 5 && rt_copy_from(&len, args[i + 1], 4) == 0) defines(ts, args[i], len);
            break;
        }
        case RT_ARG_SPECIAL: special_out(&c, i, result); break;
        default: break;
        }
    }
}

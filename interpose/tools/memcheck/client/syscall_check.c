/* System-call arguments under memcheck: what the kernel reads must be
 * addressable and defined, what it writes addressable; afterwards it is
 * defined.  What each call reads and writes stands in runtime/syscalls.def;
 * here is the code for the kinds of that table, and for the calls (type X)
 * whose memory depends on other arguments.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/keyctl.h>

#include "tools/memcheck/client/syscall_check.h"
#include "tools/memcheck/client/io_uring.h"
#include "shadow/origin.h"
#include "tools/memcheck/client/syscall_uses.h"

#define TIMEX_BYTES   208  /* struct timex */
#define CREATES       0100 /* O_CREAT */
#define SIGINFO_BYTES 128
/* Newer than the headers of Linux 6.1. */
#define NR_LSM_GET_SELF_ATTR 459
#define NR_LSM_LIST_MODULES  461

#define NUMBER_PARAM "(syscallno)"

/* "socketcall.send(buf)", not "buf": the call's name is in it.  The call's number has none. */
static bool is_whole(const char *name) {
    for (const char *p = name; *p && *p != ' '; p++)
        if (*p == '(' && p > name) return true;
    return !rt_strcmp(name, NUMBER_PARAM);
}

static void report(struct call *c, int kind, const char *name, const char *field, u64 addr) {
    if (kind != MC_E_PARAM_UNADDR && !(rt.flags & IP_C_UNDEF)) return;
    struct ip_error *e = rt_error_begin(c->ts, kind);
    /* In the kernel the program counter is that of the next instruction; the
     * line of an inlined wrapper may differ. */
    e->pc = e->frames[0] = (e->pc & IP_KEY_PC) + 2;
    e->addr = addr;
    if (kind == MC_E_PARAM_UNDEF) e->otag = origin_of_memory(c->ts, addr);
    if (kind == MC_E_PARAM_REG) e->otag = c->origin;
    if (is_whole(name))
        rt_snprintf((char *)e->text, sizeof e->text, "%s", name);
    else
        rt_snprintf((char *)e->text, sizeof e->text, "%s(%s%s)", c->info->in_messages, name, field);
    rt_error_end(c->ts, e);
}

void call_reads(struct call *c, u64 addr, u64 n, const char *name, const char *field) {
    u64 hole, bad;
    if (!rt_shadow_undef(addr, n, &bad)) return; /* what is addressable and defined, which most is, takes one look */
    bool ends = rt_shadow_unaddr(c->ts, addr, n, &hole);
    /* The first byte that is wrong says what is told, as in Valgrind. */
    if (rt.flags & IP_C_UNDEF && rt_shadow_undef(addr, ends ? hole - addr : n, &bad))
        report(c, MC_E_PARAM_UNDEF, name, field, bad);
    else if (ends)
        report(c, MC_E_PARAM_UNADDR, name, field, hole);
}

void call_writes(struct call *c, u64 addr, u64 n, const char *name, const char *field) {
    u64 bad;
    if (rt_shadow_unaddr(c->ts, addr, n, &bad)) report(c, MC_E_PARAM_UNADDR, name, field, bad);
}

/* The string up to its NUL. */
void call_reads_string(struct call *c, u64 addr, const char *name, const char *field) {
    char part[64];
    for (u64 at = addr;;) {
        u64 n = sizeof part - at % sizeof part, len = 0;
        if (rt_copy_from(part, at, n) < 0) {
            call_reads(c, at, 1, name, field);
            return;
        }
        while (len < n && part[len]) len++;
        bool end = len < n;
        u64 bad;
        if (rt_shadow_undef(at, len + end, &bad) &&
            (rt.flags & IP_C_UNDEF || rt_shadow_unaddr(c->ts, at, len + end, &bad))) {
            call_reads(c, at, len + end, name, field);
            return;
        }
        if (end) return;
        at += n;
    }
}

void call_reads_name(struct call *c, u64 addr, u64 most, const char *name) {
    for (u64 i = 0; i < most; i++) {
        char byte = 0;
        call_reads(c, addr + i, 1, name, "");
        if (rt_copy_from(&byte, addr + i, 1) < 0 || byte == 0) return;
    }
}

/* Defined after the call; never makes the unaddressable addressable. */
void call_defines(struct tstate *ts, u64 addr, u64 n) {
    if (n == 0 || n > (1ull << 32)) return;
    for (u64 bad, stop, end = addr + n; rt_shadow_undef_only(ts, addr, end - addr, &bad); addr = stop) {
        if (!rt_shadow_unaddr(ts, bad, end - bad, &stop)) stop = end;
        rt_shadow_set(bad, stop - bad, RT_SH_DEFINED);
    }
}

/* ---- Calls with code of their own ----------------------------------------------------- */

struct pollfd {
    u32 fd;
    u16 events, revents;
};

static void poll_in(struct call *c, u64 at, u64 n) {
    u64 bad;
    if (n > 65536 || !rt_shadow_undef(at, n * sizeof(struct pollfd), &bad)) return;
    for (u64 i = 0; i < n; i++) {
        int fd = 0;
        call_reads(c, at + i * 8, 4, "ufds.fd", "");
        /* A negative descriptor is skipped, but its entry is copied with the others. */
        bool skipped = rt_copy_from(&fd, at + i * 8, 4) == 0 && fd < 0;
        (skipped ? call_writes : call_reads)(c, at + i * 8 + 4, 2, "ufds.events", "");
        call_writes(c, at + i * 8 + 6, 2, "ufds.revents", "");
    }
}

static void fd_sets_in(struct call *c) {
    static const char *const names[3] = {"readfds", "writefds", "exceptfds"};
    u32 n = (u32)c->args[0], whole = n / 8;
    for (int i = 0; i < 3 && n <= 65536; i++) {
        u64 at = c->args[1 + i], bad;
        if (!at) continue;
        call_reads(c, at, whole, names[i], "");
        /* Of the last byte, only descriptors below n count. */
        if (n % 8 && (rt_shadow_unaddr(c->ts, at + whole, 1, &bad) || *(u8 *)sh_v(at + whole) & ((1u << n % 8) - 1)))
            call_reads(c, at + whole, 1, names[i], "");
    }
}

/* argv or envp. */
static void strings(struct call *c, u64 at, const char *name) {
    for (u64 p = at, s;; p += 8) {
        call_reads(c, p, 8, name, "");
        if (rt_copy_from(&s, p, 8) < 0 || !s) return;
        call_reads_string(c, s, name, p == at && name[0] == 'a' ? "[0]" : "[i]");
    }
}

/* A program has a name, which Linux alone does not want: an empty argv is told as a first string at 0. */
static void program_strings(struct call *c, u64 argv, u64 envp) {
    u64 first = 0, bad;
    if (rt_shadow_unaddr(c->ts, argv, 8, &bad) || rt_copy_from(&first, argv, 8) < 0) {
        call_reads(c, argv, 8, "argv", "");
        if (argv && rt_copy_from(&first, argv, 8) == 0) call_reads_string(c, first, "argv", "[0]");
        return;
    }
    if (first) {
        strings(c, argv, "argv");
    } else {
        call_reads(c, argv, 8, "argv", "");
        call_reads(c, 0, 1, "argv", "[0]");
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
            call_reads(c, at + 16 * i, 16, pointer, half[i]);
        else
            call_writes(c, at + 16 * i, 16, pointer, half[i]);
}

/* utimensat: the seconds count only beside real nanoseconds. */
static void two_times(struct call *c, u64 at) {
    for (int i = 0; i < 2; i++, at += 16) {
        char name[24];
        u64 nsec = 0;
        rt_snprintf(name, sizeof name, "times[%d].tv_nsec", i);
        call_reads(c, at + 8, 8, name, "");
        if (rt_copy_from(&nsec, at + 8, 8) < 0 || nsec == (1u << 30) - 1 || nsec == (1u << 30) - 2)
            continue; /* UTIME_NOW, UTIME_OMIT */
        rt_snprintf(name, sizeof name, "times[%d].tv_sec", i);
        call_reads(c, at, 8, name, "");
    }
}

/* ---- parts (arguments.def) ------------------------------------------------------------------------ */

/* bpf looks at nothing beyond the size that it is told. */
static bool beyond(const struct call *c, const struct part *p) {
    return c->nr == __NR_bpf && !p->pointed && p->at - c->args[p->arg] + p->size > (u32)c->args[2];
}

static void parts_in(struct call *c, u32 arg) {
    const char *cursor = c->parts->parts;
    struct part p;
    while (parts_next(&cursor, c->args, 0, &p)) {
        if (p.arg != arg || p.away || beyond(c, &p)) continue;
        if (p.what == '<' || p.what == '=') call_reads(c, p.at, p.size, p.name, "");
        if (p.what == '>' || p.what == 'w') call_writes(c, p.at, p.size, p.name, "");
        if (p.what == 's' && p.size) call_reads_name(c, p.at, p.size, p.name);
        if (p.what == 's' && !p.size) call_reads_string(c, p.at, p.name, "");
    }
}

static void parts_out(struct call *c, u32 arg, long result) {
    const char *cursor = c->parts->parts;
    struct part p;
    bool failed = result < 0;
    while (parts_next(&cursor, c->args, (u64)result, &p)) {
        bool written = p.what == 'f' || (!failed && (p.what == '>' || p.what == '=' || p.what == 'd'));
        if (p.arg == arg && written && !p.away && !beyond(c, &p)) call_defines(c->ts, p.at, p.size);
    }
}

/* The name of the argument here; NULL: it is not looked at. */
static const char *part_name(struct call *c, u32 arg, const char *name, struct part *p) {
    const char *cursor = c->parts->parts;
    while (parts_next(&cursor, c->args, 0, p)) {
        if (p->arg == arg && p->what == '-') return NULL;
        if (p->arg == arg && p->what == 'r') return p->name;
    }
    return name;
}

/* ---- calls that need more ------------------------------------------------------------------------- */

/* What clock_adjtime reads: the fields that its modes name.  With 0x8000 (adjtime) these are the offset, unless it is
 * only asked for (0x2000), and what is looked at in any case. */
static void adjustments(struct call *c, u64 at, const char *name) {
    static const struct {
        u16 modes;
        u8 at, size;
    } fields[] = {
        {0x8001, 8, 8},  {0x0002, 16, 8}, {0x0004, 24, 8},  {0x0008, 32, 8}, /* offset freq maxerror esterror */
        {0x0010, 40, 4}, {0x00a0, 48, 8}, {0x0100, 72, 16}, {0x4000, 88, 8}, /* status constant time tick */
    };
    u32 modes = 0;
    call_reads(c, at, 4, "timex->modes", "");
    if (rt_copy_from(&modes, at, 4) < 0) return;
    if (modes & 0x8000) modes &= modes & 0x2000 ? 0x0102 : 0x8102;
    for (u32 k = 0; k < sizeof fields / sizeof *fields; k++)
        if (modes & fields[k].modes) call_reads(c, at + fields[k].at, fields[k].size, name, "");
    call_writes(c, at, TIMEX_BYTES, name, "");
}

static u64 semaphores(const struct call *c) {
    u64 ds[13] = {0}; /* struct semid64_ds */
    return sys4(__NR_semctl, (long)c->args[0], 0, 2 /* IPC_STAT */, (long)ds) < 0 ? 0 : ds[10];
}

static void sem_arrays(struct call *c) {
    u32 command = (u32)c->args[2] & ~0x100u;
    if (command == 13) call_writes(c, c->args[3], 2 * semaphores(c), "semctl(IPC_GETALL, arg.array)", "");
    if (command == 17) call_reads(c, c->args[3], 2 * semaphores(c), "semctl(IPC_SETALL, arg.array)", "");
}

/* A structure that begins, at an offset, with its own size. */
static void sized(struct call *c, u64 at, u64 offset, const char *first, const char *whole, u64 least) {
    u32 n = 0;
    u64 bad;
    call_reads(c, at + offset, 4, first, "");
    /* What is wrong with the size is told once, and what it says is no length to go by. */
    if (rt_shadow_unaddr(c->ts, at + offset, 4, &bad) || rt_shadow_undef(at + offset, 4, &bad)) return;
    if (rt_copy_from(&n, at + offset, 4) == 0 && n <= 4096) call_reads(c, at, n ? n : least, whole, "");
}

static void file_handle(struct call *c, u64 at, bool in) {
    u32 n = 0;
    call_reads(c, at, in ? 8 : 4, "handle", "");
    if (rt_copy_from(&n, at, 4) < 0 || n > 4096) return;
    if (in)
        call_reads(c, at, 8 + (u64)n, "handle", "");
    else
        call_writes(c, at, 8 + (u64)n, "handle", "");
}

/* name_to_handle_at(2): AT_HANDLE_MNT_ID_UNIQUE asks for a longer number. */
static u64 mount_id_bytes(const struct call *c) { return c->args[4] & 1 ? 8 : 4; }

/* vmsplice(2) fills the memory if the pipe's end can only be read. */
static bool from_pipe(const struct call *c) {
    long flags = sys3(__NR_fcntl, (int)c->args[0], 3 /* F_GETFL */, 0);
    return flags >= 0 && (flags & 3 /* O_ACCMODE */) == 0;
}

/* Valgrind names its registers like splice's, but not the memory. */
static void vmspliced(struct call *c) {
    static const char name[] = "vmsplice(iov)";
    call_iovecs(c, c->args[1], c->args[2], !from_pipe(c), name, name, false);
}

/* PR_SET_MM: an auxiliary vector, all numbers at once, or their size. */
static void memory_map_in(struct call *c) {
    u32 what = (u32)c->args[1];
    if (what == 12 || what == 14) call_reads(c, c->args[2], c->args[3], "set-mm", "");
    if (what == 15) call_writes(c, c->args[2], 4, "set-mm-map-size", "");
}

/* PTRACE_PEEKSIGINFO: how many are wanted, from which on; the result is how many came. */
static void signals_peeked(struct call *c) {
    int wanted = 0;
    call_reads(c, c->args[2], 16, "peeksiginfo", "");
    if (rt_copy_from(&wanted, c->args[2] + 12, 4) < 0 || wanted <= 0) return;
    call_writes(c, c->args[3], (u64)wanted * SIGINFO_BYTES, "peeksiginfo", "");
}

/* Words of a mask of so many nodes, the last of which no bit stands for. */
static u64 node_bytes(u64 nodes) { return nodes ? (nodes - 1 + 63) / 64 * 8 : 0; }

static u64 capability_bytes(const struct call *c) {
    u32 version = 0;
    if (rt_copy_from(&version, c->args[0], 4) < 0) return 0;
    return version == 0x19980330 ? 12 : 24;
}

#define MASK_SIZE 8 /* with another one the kernel answers EINVAL and looks at no mask */

/* The signal mask of pselect6 and its like: address and size, in a structure. */
static void mask_pair(struct call *c, u64 at, const char *name, const char *inner) {
    u64 pair[2];
    call_reads(c, at, sizeof pair, name, "");
    if (rt_copy_from(pair, at, sizeof pair) == 0 && pair[0] && pair[1] == MASK_SIZE)
        call_reads(c, pair[0], MASK_SIZE, inner, "");
}

static void timer_event(struct call *c, u64 at) {
    u32 notify = 0;
    call_reads(c, at, 8, "evp.sigev_value", "");
    call_reads(c, at + 8, 4, "evp.sigev_signo", "");
    call_reads(c, at + 12, 4, "evp.sigev_notify", "");
    if (rt_copy_from(&notify, at + 12, 4) == 0 && (notify & 4 /* SIGEV_THREAD_ID */))
        call_reads(c, at + 16, 4, "evp.sigev_notify_thread_id", "");
}

static void special_in(struct call *c, u32 i, const char *name) {
    const u64 *a = c->args;
    u32 size;
    switch (c->nr) {
    case __NR_poll:
    case __NR_ppoll:
        if (i == 0) poll_in(c, a[0], a[1]);
        if (i == 3 && a[3] && a[4] == MASK_SIZE) call_reads(c, a[3], MASK_SIZE, name, "");
        break;
    case __NR_select:
    case __NR_pselect6:
        if (i == 1) fd_sets_in(c);
        if (i == 5 && a[5]) mask_pair(c, a[5], "sig", "sig->ss");
        break;
    case __NR_io_pgetevents:
        if (i == 5 && a[5]) mask_pair(c, a[5], "sigmask", "sigmask->ss");
        break;
    case __NR_execve:
        if (i == 2) program_strings(c, a[1], a[2]);
        break;
    case __NR_execveat:
        if (i == 3) program_strings(c, a[2], a[3]);
        break;
    case __NR_getitimer:
    case __NR_setitimer: timer_halves(c, a[i], name, i == 1 && c->nr == __NR_setitimer); break;
    case __NR_rt_sigaction:
        if (a[1]) {
            call_reads(c, a[1], 8, "act->sa_handler", "");
            call_reads(c, a[1] + 24, 8, "act->sa_mask", "");
            call_reads(c, a[1] + 8, 8, "act->sa_flags", "");
        }
        break;
    case __NR_sigaltstack:
        if (a[0]) {
            call_reads(c, a[0], 8, "ss", "");
            call_reads(c, a[0] + 8, 4, "ss", "");
            call_reads(c, a[0] + 16, 8, "ss", "");
        }
        break;
    case __NR_ioctl:
        if (c->parts) {
            parts_in(c, i);
            call_planes(c, true);
        } else {
            call_ioctl_in(c);
        }
        break;
    case __NR_keyctl:
        /* Without a buffer these answer how large it should be, or take nothing. */
        if (c->parts && (i != 2 || a[2] || (u32)a[0] == KEYCTL_SEARCH)) parts_in(c, i);
        break;
    case __NR_semctl:
        if (c->parts)
            parts_in(c, i);
        else
            sem_arrays(c);
        break;
    case __NR_prctl:
        /* PR_SET_SECCOMP: struct sock_fprog, which has a hole. Null asks whether there are filters: EFAULT is yes. */
        if (i == 2 && (u32)a[0] == 22 && a[1] == 2 && a[2]) {
            call_reads(c, a[2], 2, "PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter", "");
            call_reads(c, a[2] + 8, 8, "PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter", "");
        }
        if (i == 2 && (u32)a[0] == 35) memory_map_in(c);
        if (i == 4 && (u32)a[0] == 62 && a[1] == 0) call_writes(c, a[4], 8, "sched-core-cookie", "");
        if (i == 4 && (u32)a[0] == 0x53564d41 && a[4]) call_reads_string(c, a[4], "set-vma-anon-name", "");
        if (c->parts) parts_in(c, i);
        break;
    case __NR_ptrace:
        if (i == 3 && (u32)a[0] == 0x4209) signals_peeked(c);
        if (c->parts) parts_in(c, i);
        break;
    case __NR_seccomp: /* likewise: libseccomp asks so for each flag */
        if (a[2] && c->parts) parts_in(c, i);
        break;
    case __NR_utimensat: two_times(c, a[2]); break;
    case __NR_adjtimex:
    case __NR_clock_adjtime: adjustments(c, a[i], name); break;
    case __NR_mq_open:
        if (a[1] & CREATES && a[3]) { /* null: the queue has the system's attributes */
            call_reads(c, a[3] + 8, 8, "attr->mq_maxmsg", "");
            call_reads(c, a[3] + 16, 8, "attr->mq_msgsize", "");
        }
        break;
    case __NR_epoll_ctl:
        /* Either half of the data may be unused: only the events are read for sure. */
        if (a[1] != 2) call_reads(c, a[3], 4, name, "");
        break;
    case __NR_futex:
        if (i == 0 && sh_futex_knows(a[1])) call_reads(c, a[0], 4, name, "");
        if (i == 3 && a[3] && sh_futex_waits(a[1])) call_reads(c, a[3], 16, "timeout", "");
        if (i == 4) call_reads(c, a[4], 4, "futex2", "");
        break;
    case __NR_msgsnd:
        call_reads(c, a[1], 8, "msgp->mtype", "");
        call_reads(c, a[1] + 8, a[2], "msgp->mtext", "");
        break;
    case __NR_msgrcv:
        call_writes(c, a[1], 8, "msgp->mtype", "");
        call_writes(c, a[1] + 8, a[2], "msgp->mtext", "");
        break;
    case __NR_recvmmsg:
    case __NR_sendmmsg:
        rt_th(c->ts)->address_room = 0;
        call_messages(c, a[1], (u32)a[2], c->nr == __NR_sendmmsg);
        break;
    case __NR_vmsplice: vmspliced(c); break;
    case __NR_setsockopt: call_socket_option(c, name); break;
    case __NR_bpf:
        if (c->parts) parts_in(c, i);
        call_bpf_in(c);
        break;
    case __NR_io_submit: call_requests(c, a[2], a[1]); break;
    case __NR_timer_create:
        if (a[1]) timer_event(c, a[1]);
        break;
    case __NR_capget: call_writes(c, a[1], a[1] ? capability_bytes(c) : 0, "data", ""); break;
    case __NR_capset: call_reads(c, a[1], capability_bytes(c), "data", ""); break;
    case __NR_sched_setattr: sized(c, a[1], 0, "attr->size", "attr", 48); break;
    case __NR_perf_event_open: sized(c, a[0], 4, "attr->size", "attr", 64); break;
    case __NR_name_to_handle_at:
        if (i == 2)
            file_handle(c, a[2], false);
        else
            call_writes(c, a[3], mount_id_bytes(c), name, "");
        break;
    case __NR_open_by_handle_at: file_handle(c, a[1], true); break;
    case __NR_set_mempolicy:
        if (a[1]) call_reads(c, a[1], node_bytes(a[2]), name, "");
        break;
    case __NR_mbind:
        if (a[3]) call_reads(c, a[3], node_bytes(a[4]), name, "");
        break;
    case __NR_migrate_pages:
        if (a[i]) call_reads(c, a[i], node_bytes(a[1]), name, "");
        break;
    case NR_LSM_GET_SELF_ATTR:
    case NR_LSM_LIST_MODULES:
        if (a[i] && rt_copy_from(&size, a[i + 1], sizeof size) == 0) call_writes(c, a[i], size, name, "");
        break;
    case __NR_get_mempolicy:
        if (a[1]) call_writes(c, a[1], node_bytes(a[2]), name, "");
        break;
    default:
        if (c->parts) parts_in(c, i);
        break;
    }
}

static void special_out(struct call *c, u32 i, long result) {
    const u64 *a = c->args;
    struct tstate *ts = c->ts;
    u32 size;
    switch (c->nr) {
    case __NR_poll:
    case __NR_ppoll:
        for (u64 k = 0; i == 0 && k < a[1] && k < 65536; k++) call_defines(ts, a[0] + 8 * k + 6, 2);
        break;
    case __NR_ioctl:
        if (c->parts) {
            parts_out(c, i, result);
            call_planes(c, false);
        } else {
            call_ioctl_out(c);
        }
        break;
    case __NR_futex: /* The word of a lock that passes priorities on is the kernel's to write. */
        if (i == 0 && sh_futex_knows(a[1])) call_defines(ts, a[0], 4);
        break;
    case NR_LSM_GET_SELF_ATTR:
    case NR_LSM_LIST_MODULES: /* the size is now what there is */
        if (a[i] && rt_copy_from(&size, a[i + 1], sizeof size) == 0) call_defines(ts, a[i], size);
        break;
    case __NR_getitimer: call_defines(ts, a[1], 32); break;
    case __NR_setitimer:
        if (i == 2) call_defines(ts, a[2], 32);
        break;
    case __NR_fcntl:
        if (i == 2 && (a[1] == 5 || a[1] == 36)) call_defines(ts, a[2], 32); /* F_GETLK, F_OFD_GETLK */
        if (c->parts) parts_out(c, i, result);
        break;
    case __NR_semctl:
        if (c->parts) parts_out(c, i, result);
        if (i == 3 && ((u32)a[2] & ~0x100u) == 13) call_defines(ts, a[3], 2 * semaphores(c)); /* GETALL */
        break;
    case __NR_msgrcv: call_defines(ts, a[1], 8 + (u64)result); break;
    case __NR_syslog: call_defines(ts, a[1], (u64)result); break;
    case __NR_capget: call_defines(ts, a[1], capability_bytes(c)); break;
    case __NR_adjtimex:
    case __NR_clock_adjtime: call_defines(ts, a[i], TIMEX_BYTES); break;
    case __NR_get_mempolicy: call_defines(ts, a[1], node_bytes(a[2])); break;
    case __NR_name_to_handle_at:
        if (i == 2) {
            u32 n = 0;
            rt_copy_from(&n, a[2], 4);
            call_defines(ts, a[2], 8 + (u64)n);
        } else {
            call_defines(ts, a[3], mount_id_bytes(c));
        }
        break;
    case __NR_vmsplice:
        if (from_pipe(c)) call_iovecs_defined(ts, a[1], a[2], (u64)result);
        break;
    case __NR_prctl:
        if (i == 2 && (u32)a[0] == 35 && (u32)a[1] == 15) call_defines(ts, a[2], 4);
        if (i == 4 && (u32)a[0] == 62 && a[1] == 0) call_defines(ts, a[4], 8);
        if (c->parts) parts_out(c, i, result);
        break;
    case __NR_bpf:
        if (c->parts) parts_out(c, i, result);
        call_bpf_out(c, result);
        break;
    case __NR_recvmmsg:
        for (long k = 0; i == 1 && k < result && k < 1024; k++) {
            u32 got = 0;
            rt_copy_from(&got, a[1] + (u64)k * 64 + 56, 4);
            call_message_received(ts, a[1] + (u64)k * 64, rt_th(ts)->address_room, got);
            call_defines(ts, a[1] + (u64)k * 64 + 56, 4);
        }
        break;
    case __NR_ptrace:
        if (c->parts) parts_out(c, i, result);
        if (i == 3 && (u32)a[0] == 0x4209) call_defines(ts, a[3], (u64)result * SIGINFO_BYTES);
        if (i == 3 && a[0] == 0x4204) { /* PTRACE_GETREGSET: an iovec, whose length says how much came */
            u64 v[2];
            call_defines(ts, a[3], sizeof v);
            if (rt_copy_from(v, a[3], sizeof v) == 0) call_defines(ts, v[0], v[1]);
        }
        /* PTRACE_ARCH_PRCTL with ARCH_GET_FS, ARCH_GET_GS: what and where to are the other way round. */
        if (i == 3 && (u32)a[0] == 30 && ((u32)a[3] == 0x1003 || (u32)a[3] == 0x1004)) call_defines(ts, a[2], 8);
        break;
    case __NR_sendmmsg:
        for (long k = 0; i == 1 && k < result && k < 1024; k++) call_defines(ts, a[1] + (u64)k * 64 + 56, 4);
        break;
    case __NR_sysfs:
        if (i == 2) {
            for (u64 k = 0; k < 64; k++) {
                char b;
                if (rt_copy_from(&b, a[2] + k, 1) < 0) break;
                call_defines(ts, a[2] + k, 1);
                if (!b) break;
            }
        }
        break;
    default:
        if (c->parts) parts_out(c, i, result);
        break;
    }
}

/* ---- Arguments in use -------------------------------------------------------------------- */

static bool is_narrow(const struct call *c, u32 i, enum rt_arg_kind kind) {
    return rt_arg_is_narrow(kind) ||
           (c->nr == __NR_futex && (i == 2 || i == 5 || (i == 3 && !sh_futex_waits(c->args[1]))));
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

/* A number that can never be a descriptor, where Valgrind looks at no memory: the call fails before it would. */
static bool is_no_file(long nr, const u64 args[6]) {
    bool looks = nr == __NR_read || nr == __NR_write || numbers_vectors(nr) || nr == __NR_timerfd_settime ||
                 nr == __NR_timerfd_gettime;
    return looks && rt_is_no_descriptor((int)args[0]);
}

/* How Rust's standard library asks whether the kernel has statx: EFAULT is its answer, and no error of the program. */
static bool only_asks(long nr, const u64 args[6]) { return nr == __NR_statx && !args[1] && !args[4]; }

struct used_arg {
    u32 number;
    const struct rt_syscall_arg *is;
    const char *in_register; /* what its register is called; may lie in part */
    struct part part;
};

/* The next argument that the call looks at, from number `at` on; false after the last. */
static bool next_used(struct call *c, const struct rt_syscall_described *d, u32 at, struct used_arg *a) {
    for (a->number = at; a->number < d->n; a->number++) {
        a->is = &d->args[a->number];
        a->in_register = a->is->name;
        if (!sh_syscall_uses(c->nr, c->args, a->number)) continue;
        if (a->is->kind == RT_ARG_SPECIAL && c->parts == NULL) c->parts = parts_of(c->nr, c->args);
        if (c->parts) a->in_register = part_name(c, a->number, a->is->name, &a->part);
        if (a->in_register) return true;
    }
    return false;
}

/* The length beside an address is looked at together with that one. */
static bool is_absent(const struct rt_syscall_arg *a, int before, const u64 args[6], u32 i) {
    return a->maybe_null && !args[before == RT_ARG_ADDR_OUT ? i - 1 : i];
}

/* All registers before any memory, as Valgrind does: what is wrong is told in that order. */
static void check_registers(struct call *c) {
    const struct rt_syscall_described *d = rt_syscall_described(c->info);
    struct used_arg a;
    for (u32 i = 0; next_used(c, d, i, &a); i = a.number + 1)
        if (!a.is->conditional || sh_condition_holds(c->nr, c->args, a.number))
            check_register(c, rt_syscall_regs[a.number], is_narrow(c, a.number, a.is->kind), a.in_register);
    c->parts = NULL;
}

void mc_syscall_before(struct tstate *ts, long nr, const u64 given[6]) {
    const struct rt_syscall_info *info = rt_syscall_info(nr);
    u64 args[6];
    struct call c = {ts, info, args, nr, 0, NULL};
    check_register(&c, IP_RAX, false, NUMBER_PARAM);
    if (!info) return;
    const struct rt_syscall_described *d = rt_syscall_described(info);
    rt_args_taken(d, given, args);
    uring_before(&c);
    if (ts->umask & 0xffff) check_registers(&c);
    if (is_no_file(nr, args) || only_asks(nr, args)) return;
    struct used_arg used;
    int before = RT_ARG_32;
    for (u32 i = 0; next_used(&c, d, i, &used); before = (int)used.is->kind, i++) {
        i = used.number;
        const struct rt_syscall_arg *a = used.is;
        const char *name = a->report[0] ? a->report : a->name;
        if (is_absent(a, before, args, i)) continue;
        if (a->conditional && a->kind == RT_ARG_OUT && !sh_condition_holds(nr, args, i)) continue;
        u64 n = rt_size_value(&a->size, args, 0);
        switch (a->kind) {
        case RT_ARG_STRING: call_reads_string(&c, args[i], name, ""); break;
        case RT_ARG_IN: call_reads(&c, args[i], n, name, ""); break;
        case RT_ARG_INOUT: call_reads(&c, args[i], n, name, ""); break;
        case RT_ARG_OUT: call_writes(&c, args[i], n, name, ""); break;
        case RT_ARG_IOV_IN: call_iovecs(&c, args[i], n, true, name, name, numbers_vectors(nr)); break;
        case RT_ARG_IOV_OUT: call_iovecs(&c, args[i], n, false, name, name, numbers_vectors(nr)); break;
        case RT_ARG_MSG_IN:
            if (args[i]) call_message(&c, args[i], true, name);
            break;
        case RT_ARG_MSG_OUT:
            rt_th(ts)->address_room = 0;
            if (args[i]) call_message(&c, args[i], false, name);
            break;
        case RT_ARG_ADDR_IN:
            if (args[i]) call_socket_address(&c, args[i], n, name);
            break;
        case RT_ARG_ADDR_OUT: {
            u32 len = 0;
            if (i < 5 && rt_copy_from(&len, args[i + 1], 4) == 0) call_writes(&c, args[i], len, name, "");
            rt_th(ts)->address_room = len;
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

/* wait4(2) and waitid(2) without a child to tell of succeed, too. waitid clears what it tells then, but no times. */
static bool found_child(long nr, const u64 args[6], long result) {
    u32 signo = 0;
    if (nr == __NR_wait4) return result != 0;
    return !args[2] || rt_copy_from(&signo, args[2], 4) != 0 || signo != 0;
}

/* What waitid tells of a child: six fields, neither what lies between them nor behind them. */
static void child_told(const struct call *c) {
    if (!c->args[2]) return;
    call_defines(c->ts, c->args[2], 12);
    call_defines(c->ts, c->args[2] + 16, 12);
}

/* What is written although the call fails. */
static void failed_out(struct call *c, long result) {
    switch (c->nr) {
    case __NR_waitid:
        if (result != -EFAULT) child_told(c);
        break;
    case __NR_name_to_handle_at: /* how much room it takes, and where the file is */
        if (result != -EOVERFLOW) return;
        call_defines(c->ts, c->args[2], 8);
        call_defines(c->ts, c->args[3], mount_id_bytes(c));
        break;
    case __NR_nanosleep:
    case __NR_clock_nanosleep: /* what was left of the time; of an absolute one (TIMER_ABSTIME) nothing is told */
        if (result == -EINTR && (c->nr == __NR_nanosleep || !(c->args[1] & 1)))
            call_defines(c->ts, c->args[c->nr == __NR_nanosleep ? 1 : 3], 16);
        break;
    case __NR_bpf: call_bpf_out(c, result); break;
    case __NR_ioctl:
        c->parts = parts_of(c->nr, c->args);
        if (c->parts) parts_out(c, 2, result);
        break;
    default: break;
    }
}

void mc_syscall_after(struct tstate *ts, long nr, const u64 given[6], long result) {
    const struct rt_syscall_info *info = rt_syscall_info(nr);
    u64 args[6];
    result_defined(ts);
    if (!info) return;
    const struct rt_syscall_described *d = rt_syscall_described(info);
    rt_args_taken(d, given, args);
    struct call c = {ts, info, args, nr, 0, NULL};
    if (result < 0) {
        failed_out(&c, result);
        return;
    }
    uring_after(nr, args, result);
    if (nr == __NR_io_getevents || nr == __NR_io_pgetevents) call_requests_done(ts, args[3], (u64)result);
    int before = RT_ARG_32;
    for (u32 i = 0; i < d->n; before = (int)d->args[i].kind, i++) {
        const struct rt_syscall_arg *a = &d->args[i];
        if (!args[i] || is_absent(a, before, args, i)) continue;
        u64 n = rt_size_value(&a->after, args, result), most = rt_size_value(&a->size, args, result);
        if (a->size.base == RT_SIZE_ARG && n > most) n = most; /* MSG_TRUNC: more was there than was written */
        if ((nr == __NR_wait4 || (nr == __NR_waitid && i == 4)) && !found_child(nr, args, result)) continue;
        switch (a->kind) {
        case RT_ARG_OUT:
        case RT_ARG_INOUT:
            if (nr == __NR_waitid && i == 2)
                child_told(&c);
            else
                call_defines(ts, args[i], n);
            break;
        case RT_ARG_IOV_OUT:
            call_iovecs_defined(ts, args[i], rt_size_value(&a->size, args, result), (u64)result);
            break;
        case RT_ARG_MSG_OUT: call_message_received(ts, args[i], rt_th(ts)->address_room, result); break;
        case RT_ARG_ADDR_OUT: {
            u32 len = 0, room = rt_th(ts)->address_room;
            /* The answer is the length of the whole address, of which so much was written as there was room for. */
            if (i < 5 && rt_copy_from(&len, args[i + 1], 4) == 0) call_defines(ts, args[i], len < room ? len : room);
            break;
        }
        case RT_ARG_SPECIAL:
            if (c.parts == NULL) c.parts = parts_of(nr, args);
            special_out(&c, i, result);
            break;
        default: break;
        }
    }
}

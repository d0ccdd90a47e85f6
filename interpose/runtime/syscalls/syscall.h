/* What is known about each system call: the table of syscalls.def, read at run
 * time by rt_syscall and by a tool's checks of arguments. */
#ifndef INTERPOSE_SYSCALL_H
#define INTERPOSE_SYSCALL_H

#include "runtime/base/rt.h"

struct rt_syscall_info {
    const char *name;
    const char *in_messages;            /* usually the same */
    long (*handler)(struct tstate *ts); /* NULL: the kernel answers */
    const char *args;                   /* notation of syscalls.def */
};
/* NULL if the number is not in the table. */
const struct rt_syscall_info *rt_syscall_info(long nr);

/* A call that is done: what it has accessed may be watched by a debugger. */
void rt_syscall_touched(struct tstate *ts, long nr, const u64 args[6], long result);

/* rt_syscall with this number; RAX is not looked at. */
void rt_syscall_as(struct tstate *ts, long nr, u64 next_pc);

enum rt_arg_kind {
    RT_ARG_32,       /* d */
    RT_ARG_FD,       /* f */
    RT_ARG_FOLDER,   /* F */
    RT_ARG_64,       /* q */
    RT_ARG_STRING,   /* s */
    RT_ARG_IN,       /* < */
    RT_ARG_OUT,      /* > */
    RT_ARG_INOUT,    /* = */
    RT_ARG_IOV_IN,   /* V< */
    RT_ARG_IOV_OUT,  /* V> */
    RT_ARG_MSG_IN,   /* M< */
    RT_ARG_MSG_OUT,  /* M> */
    RT_ARG_ADDR_IN,  /* A< */
    RT_ARG_ADDR_OUT, /* A> */
    RT_ARG_SPECIAL   /* X */
};

/* Does the kernel look at 32 bits of it alone? */
static inline bool rt_arg_is_narrow(enum rt_arg_kind kind) { return kind <= RT_ARG_FOLDER; }

struct rt_size {
    enum { RT_SIZE_CONST, RT_SIZE_ARG, RT_SIZE_DEREF, RT_SIZE_RESULT } base;
    u32 arg;   /* number of the argument */
    u64 times; /* factor, or the constant itself */
};

struct rt_syscall_arg {
    char name[24];
    char report[64]; /* whole name in messages about memory, "" = name(arg) */
    enum rt_arg_kind kind;
    bool maybe_null, conditional;
    struct rt_size size;  /* bytes accessed, or number of iovecs */
    struct rt_size after; /* bytes defined after success */
};
/* Read the next argument at *cursor and advance; false at the end. */
bool rt_next_arg(const char **cursor, struct rt_syscall_arg *out);

struct rt_syscall_described {
    u32 n;
    u32 descriptors; /* bit i: argument i may be one */
    struct rt_syscall_arg args[6];
};
/* All arguments of a call of the table, which are read from its notation once. */
const struct rt_syscall_described *rt_syscall_described(const struct rt_syscall_info *info);

/* The arguments as the kernel takes them: what stands above the 32 bits of an int is none of it. */
void rt_args_taken(const struct rt_syscall_described *d, const u64 args[6], u64 taken[6]);

/* Value of a size; saturates instead of wrapping; 0 if it cannot be read. */
u64 rt_size_value(const struct rt_size *s, const u64 args[6], long result);

/* Whether the call uses a descriptor that is ours: such a one is not open for the guest.  If so, `without` has the
 * arguments with one in its place that never is, for only the kernel knows which of several wrong ones it tells. */
bool rt_without_ours(long nr, const struct rt_syscall_info *info, const u64 args[6], u64 without[6]);
/* A number that can never be a descriptor. */
bool rt_is_no_descriptor(int fd);
/* Whether argument i of this kind is a descriptor that the call uses. */
bool rt_arg_is_used_fd(long nr, enum rt_arg_kind kind, u32 i, const u64 args[6]);
/* Is the result of the call a descriptor (->f)? */
bool rt_returns_fd(const struct rt_syscall_info *info);

/* Handlers that live beside syscall.c: syscall_fd.c and procfs.c. */
void rt_hide_foreign(int fd); /* a descriptor of another process on the same table */
long rt_sys_close(struct tstate *ts);
long rt_sys_close_range(struct tstate *ts);
long rt_sys_dup(struct tstate *ts);
long rt_sys_select(struct tstate *ts);
long rt_sys_dup2(struct tstate *ts);
long rt_sys_dup3(struct tstate *ts);
long rt_sys_fcntl(struct tstate *ts);
long rt_sys_getdents64(struct tstate *ts);
long rt_sys_open(struct tstate *ts);
long rt_sys_openat(struct tstate *ts);
long rt_sys_openat2(struct tstate *ts);
long rt_sys_readlink(struct tstate *ts);
long rt_sys_readlinkat(struct tstate *ts);
long rt_sys_path0(struct tstate *ts); /* path is argument 0, followed */
long rt_sys_path1(struct tstate *ts); /* path is argument 1, followed */
long rt_sys_fstatat(struct tstate *ts);
long rt_sys_statx(struct tstate *ts);
/* seccomp.c */
long rt_sys_seccomp(struct tstate *ts);
/* tracer.c, tracer_wait.c */
long rt_sys_ptrace(struct tstate *ts);
long rt_sys_wait4(struct tstate *ts);
long rt_sys_waitid(struct tstate *ts);

/* procfs_read.c */
long rt_sys_read(struct tstate *ts);
long rt_sys_pread64(struct tstate *ts);
long rt_sys_readv(struct tstate *ts);
long rt_sys_preadv(struct tstate *ts);
long rt_sys_sendfile(struct tstate *ts);
long rt_sys_splice(struct tstate *ts); /* copy_file_range, too */
long rt_sys_ioctl(struct tstate *ts);
long rt_sys_userfaultfd(struct tstate *ts);
#define USERFAULTFD_IOC_NEW_ 0xaa00 /* linux/userfaultfd.h, since Linux 6.1 */

/* Where a call's arguments are, in order. */
static const u8 rt_syscall_regs[6] = {IP_RDI, IP_RSI, IP_RDX, IP_R10, IP_R8, IP_R9};

static inline void rt_syscall_args(const struct tstate *ts, u64 args[6]) {
    for (int i = 0; i < 6; i++) args[i] = ts->gpr[rt_syscall_regs[i]];
}
static inline void rt_set_syscall_args(struct tstate *ts, const u64 args[6]) {
    for (int i = 0; i < 6; i++) ts->gpr[rt_syscall_regs[i]] = args[i];
}

/* --trace-syscalls=yes. */
void rt_show_call(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6]);
void rt_show_answer(struct tstate *ts, long nr, long result);

#endif

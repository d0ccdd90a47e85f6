/* What the checks of system calls' arguments share (syscall_check.c, syscall_sockets.c). */
#ifndef INTERPOSE_SYSCALL_CHECK_H
#define INTERPOSE_SYSCALL_CHECK_H

#include "runtime/syscalls/syscall.h"
#include "tools/memcheck/client/memcheck.h"
#include "tools/memcheck/client/syscall_parts.h"

struct call {
    struct tstate *ts;
    const struct rt_syscall_info *info;
    const u64 *args;
    long nr;
    u32 origin;                /* of the register under test */
    const struct parts *parts; /* of arguments.def, or NULL */
};

/* The kernel reads, or may write, n bytes.  "CALL(name" and field ")" is what the report says, or name alone if it is
 * whole: it has parentheses. */
void call_reads(struct call *c, u64 addr, u64 n, const char *name, const char *field);
void call_writes(struct call *c, u64 addr, u64 n, const char *name, const char *field);
void call_reads_string(struct call *c, u64 addr, const char *name, const char *field);
/* A string of at most so many bytes, which has no NUL if it fills them. */
void call_reads_name(struct call *c, u64 addr, u64 most, const char *name);
/* They are written: defined, but never addressable if they were not. */
void call_defines(struct tstate *ts, u64 addr, u64 n);

/* ---- syscall_sockets.c ------------------------------------------------------------ */
/* n struct iovec; the name of each is field[its number]. */
void call_iovecs(struct call *c, u64 at, u64 n, bool in, const char *vec, const char *field, bool numbered);
void call_iovecs_defined(struct tstate *ts, u64 at, u64 n, u64 bytes);
/* A struct msghdr; an array of struct mmsghdr. */
void call_message(struct call *c, u64 at, bool in, const char *name);
void call_messages(struct call *c, u64 at, u64 n, bool in);
void call_message_received(struct tstate *ts, u64 at, u64 name_room, long result);
void call_socket_address(struct call *c, u64 at, u64 n, const char *name);

/* What setsockopt looks at of its value. */
void call_socket_option(struct call *c, const char *name);

/* ---- aio.c: n pointers to struct iocb; n struct io_event ----------------------------- */
void call_requests(struct call *c, u64 at, u64 n);
void call_requests_done(struct tstate *ts, u64 at, u64 n);

/* ---- syscall_bpf.c: what the attributes lead to ------------------------------------ */
void call_bpf_in(struct call *c);
/* Also after a failure. */
void call_bpf_out(struct call *c, long result);

/* ---- ioctls.c: requests that ioctls.def has no row for ------------------------------ */
void call_ioctl_in(struct call *c);
void call_ioctl_out(struct call *c);

/* ---- ioctl_planes.c: what the rows of some requests lead to --------------------------- */
/* The planes that are read and may be written (in), or have been written; nothing of other requests. */
void call_planes(struct call *c, bool in);

#endif

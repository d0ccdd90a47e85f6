/* Vectors, messages and socket addresses as arguments of system calls, member by member. */
#include "shadow/shadow.h"
#include "tools/memcheck/client/syscall_check.h"

#define MAX_IOVS     1024
#define MAX_MESSAGES 1024
#define MMSG_BYTES   64 /* struct mmsghdr */

struct iovec {
    u64 base, len;
};

/* "CALL(field)", or "CALL(...field": what is inside of parentheses that are there, or not. */
static void member(char *out, u64 room, const char *name, const char *field) {
    u64 n = rt_strlen(name), whole = n && name[n - 1] == ')';
    rt_snprintf(out, room, "%s", name);
    if (n - whole < room) rt_snprintf(out + n - whole, room - (n - whole), whole ? "%s)" : "%s", field);
}

void call_iovecs(struct call *c, u64 at, u64 n, bool in, const char *vec, const char *field, bool numbered) {
    if (n > MAX_IOVS) return; /* nor does the kernel look at any of so many */
    call_reads(c, at, n * sizeof(struct iovec), vec, "");
    for (u64 i = 0; i < n; i++) {
        struct iovec v;
        char name[96], which[24] = "[...]";
        u64 bad;
        if (rt_copy_from(&v, at + i * sizeof v, sizeof v) < 0) return;
        /* A name is made where one is told: of a thousand parts most often none. */
        if (!(in ? rt_shadow_undef(v.base, v.len, &bad) : rt_shadow_unaddr(c->ts, v.base, v.len, &bad))) continue;
        if (numbered) rt_snprintf(which, sizeof which, "[%lu]", i);
        member(name, sizeof name, field, which);
        if (in)
            call_reads(c, v.base, v.len, name, "");
        else
            call_writes(c, v.base, v.len, name, "");
    }
}

void call_iovecs_defined(struct tstate *ts, u64 at, u64 n, u64 bytes) {
    for (u64 i = 0; i < n && i < MAX_IOVS && bytes; i++) {
        struct iovec v;
        if (rt_copy_from(&v, at + i * sizeof v, sizeof v) < 0) return;
        u64 take = v.len < bytes ? v.len : bytes;
        call_defines(ts, v.base, take);
        bytes -= take;
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

#define CMSG_HEAD 16 /* struct cmsghdr */
enum { MSG_NAME, MSG_NAMELEN, MSG_IOV, MSG_IOVLEN, MSG_CONTROL, MSG_CONTROLLEN, MSG_FLAGS };

/* Control messages without the padding between them: the kernel copies it, but nobody reads it. */
static void controls(struct call *c, u64 at, u64 n, const char *name) {
    struct {
        u64 len;
        u32 level, type;
    } h;
    u64 bad;
    if (rt_shadow_unaddr(c->ts, at, n, &bad)) {
        call_writes(c, at, n, name, "");
        return;
    }
    for (u64 end = at + n; at < end && end - at >= sizeof h; at += RT_ROUND_UP(h.len, 8)) {
        if (rt_copy_from(&h, at, sizeof h) < 0 || h.len < sizeof h || h.len > end - at) h.len = sizeof h;
        call_reads(c, at, h.len, name, "");
        if (h.len == sizeof h) return;
    }
}

void call_message(struct call *c, u64 at, bool in, const char *name) {
    u64 m[7];
    char part[96];
    call_reads(c, at, 12, name, "");
    call_reads(c, at + 16, 32, name, "");
    if (!in) call_writes(c, at + 48, 4, name, "");
    if (rt_copy_from(m, at, sizeof m) < 0) return;
    if (m[MSG_NAME]) {
        member(part, sizeof part, name, ".msg_name");
        if (in)
            call_reads(c, m[MSG_NAME], (u32)m[MSG_NAMELEN], part, "");
        else
            call_writes(c, m[MSG_NAME], (u32)m[MSG_NAMELEN], part, "");
        /* Of several messages the largest: their rooms are most often equal. */
        u32 *room = &rt_th(c->ts)->address_room;
        if (!in && *room < (u32)m[MSG_NAMELEN]) *room = (u32)m[MSG_NAMELEN];
    }
    member(part, sizeof part, name, ".msg_iov");
    call_iovecs(c, m[MSG_IOV], m[MSG_IOVLEN], in, part, part, true);
    member(part, sizeof part, name, ".msg_control");
    if (m[MSG_CONTROL] && in)
        controls(c, m[MSG_CONTROL], m[MSG_CONTROLLEN], part);
    else if (m[MSG_CONTROL])
        call_writes(c, m[MSG_CONTROL], m[MSG_CONTROLLEN], part, "");
}

void call_messages(struct call *c, u64 at, u64 n, bool in) {
    char name[64];
    for (u64 i = 0; i < n && i < MAX_MESSAGES; i++, at += MMSG_BYTES) {
        u64 word;
        rt_snprintf(name, sizeof name, "%s(mmsg[%lu].msg_hdr)", in ? "sendmsg" : "recvmsg", i);
        call_message(c, at, in, name);
        rt_snprintf(name, sizeof name, "mmsg[%lu].msg_len", i);
        call_writes(c, at + MMSG_BYTES - 8, 4, name, "");
        if (rt_copy_from(&word, at, sizeof word) < 0) return;
    }
}

/* Without the padding between them, as nothing is written there. */
static void controls_received(struct tstate *ts, u64 at, u64 n) {
    u64 length;
    for (u64 end = at + n; at < end && end - at >= CMSG_HEAD; at += RT_ROUND_UP(length, 8)) {
        if (rt_copy_from(&length, at, sizeof length) < 0 || length < CMSG_HEAD) return;
        if (length > end - at) length = end - at;
        call_defines(ts, at, length);
    }
}

void call_message_received(struct tstate *ts, u64 at, u64 name_room, long result) {
    u64 m[7];
    if (rt_copy_from(m, at, sizeof m) < 0) return;
    call_defines(ts, at + 8, 4);
    call_defines(ts, at + 40, 12);
    u64 name = (u32)m[MSG_NAMELEN]; /* of the whole, of which so much was written as there was room for */
    if (m[MSG_NAME]) call_defines(ts, m[MSG_NAME], name < name_room ? name : name_room);
    call_iovecs_defined(ts, m[MSG_IOV], m[MSG_IOVLEN], (u64)result);
    if (m[MSG_CONTROL]) controls_received(ts, m[MSG_CONTROL], m[MSG_CONTROLLEN]);
}

/* ---- addresses ------------------------------------------------------------------------------ */

/* What the kernel looks at of an address, by its family (the address families' manual pages). */
static const struct field {
    u16 family, at, size;
    const char *name;
} fields[] = {
    {2, 2, 2, ".sin_port"},    {2, 4, 4, ".sin_addr"},        {10, 2, 2, ".sin6_port"}, {10, 4, 4, ".sin6_flowinfo"},
    {10, 8, 16, ".sin6_addr"}, {10, 24, 4, ".sin6_scope_id"}, {16, 4, 4, ".nl_pid"},    {16, 8, 4, ".nl_groups"},
    {31, 2, 6, ".rc_bdaddr"},  {31, 8, 1, ".rc_channel"},
};
#define COUNT (sizeof fields / sizeof *fields)

void call_socket_address(struct call *c, u64 at, u64 n, const char *name) {
    char part[96];
    u16 family = 0;
    bool known = false;
    member(part, sizeof part, name, ".sa_family");
    call_reads(c, at, n < 2 ? n : 2, part, "");
    if (n <= 2 || rt_copy_from(&family, at, 2) < 0) return;
    if (family == 0 /* AF_UNSPEC */) return;
    if (family == 1 /* AF_UNIX: up to its NUL, and an abstract name without one */) {
        member(part, sizeof part, name, ".sun_path");
        for (u64 i = 2; i < n; i++) {
            char b = 0;
            call_reads(c, at + i, 1, part, "");
            if (rt_copy_from(&b, at + i, 1) < 0 || (b == 0 && i > 2)) return;
        }
        return;
    }
    for (u32 i = 0; i < COUNT; i++) {
        const struct field *f = &fields[i];
        if (f->family != family) continue;
        known = true;
        if (f->at >= n) continue;
        member(part, sizeof part, name, f->name);
        call_reads(c, at + f->at, f->size < n - f->at ? f->size : n - f->at, part, "");
    }
    member(part, sizeof part, name, ".sa_data");
    if (!known) call_reads(c, at + 2, n - 2, part, "");
}

/* ---- options --------------------------------------------------------------------------------- */

/* struct sockaddr_storage: of most families only the address counts. */
static void group_address(struct call *c, u64 at, const char *name) {
    u16 family = 0;
    call_reads(c, at, 2, name, "");
    if (rt_copy_from(&family, at, 2) < 0) return;
    if (family == 2 /* AF_INET */)
        call_reads(c, at + 4, 4, name, "");
    else if (family == 10 /* AF_INET6 */)
        call_reads(c, at + 8, 16, name, "");
    else
        call_reads(c, at + 2, 126, name, "");
}

#define FILTER "setsockopt(SOL_SOCKET, SO_ATTACH_FILTER, "

/* struct sock_fprog: how many instructions, and where they are. */
static void filter_program(struct call *c, u64 at, const char *length, const char *pointer, const char *instructions) {
    u16 n = 0;
    u64 filter = 0;
    call_reads(c, at, 2, length, "");
    call_reads(c, at + 8, 8, pointer, "");
    if (rt_copy_from(&n, at, 2) == 0 && rt_copy_from(&filter, at + 8, 8) == 0)
        call_reads(c, filter, (u64)n * 8, instructions, "");
}

/* Structures with holes, and members that others make unused: programs leave those as they are. */
void call_socket_option(struct call *c, const char *name) {
    enum { SOCKET = 1, PACKET = 263, IP = 0, IPV6 = 41 };
    enum { BINDTODEVICE = 25, ATTACH_FILTER = 26, ATTACH_REUSEPORT_CBPF = 51 };
    enum { ADD_MEMBERSHIP = 1, DROP_MEMBERSHIP = 2 };
    enum { JOIN_GROUP = 42, LEAVE_SOURCE_GROUP = 47, LEAVE_GROUP = 45, ADDRESS_AT = 8, SOURCE_AT = 136 };
    u32 level = (u32)c->args[1], option = (u32)c->args[2], length = (u32)c->args[4];
    u64 at = c->args[3];
    if (level == SOCKET && option == ATTACH_FILTER && length == 16) {
        filter_program(c, at, FILTER "&optval.len)", FILTER "&optval.filter)", FILTER "optval.filter)");
    } else if (level == SOCKET && option == ATTACH_REUSEPORT_CBPF && length == 16) {
        filter_program(c, at, name, name, name);
    } else if (level == SOCKET && option == BINDTODEVICE) {
        call_reads_name(c, at, length < 15 ? length : 15, name);
    } else if (level == PACKET && (option == ADD_MEMBERSHIP || option == DROP_MEMBERSHIP) && length >= 16) {
        u16 bytes = 0;
        call_reads(c, at, 8, name, "");
        if (rt_copy_from(&bytes, at + 6, 2) == 0)
            call_reads(c, at + 8, bytes < length - 8 ? bytes : length - 8, name, "");
    } else if ((level == IP || level == IPV6) && option >= JOIN_GROUP && option <= LEAVE_SOURCE_GROUP &&
               length >= SOURCE_AT) {
        call_reads(c, at, 4, name, "");
        group_address(c, at + ADDRESS_AT, name);
        if (option != JOIN_GROUP && option != LEAVE_GROUP && length >= 2 * SOURCE_AT - ADDRESS_AT)
            group_address(c, at + SOURCE_AT, name);
    } else {
        call_reads(c, at, c->args[4], name, "");
    }
}

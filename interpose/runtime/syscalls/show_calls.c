/* --trace-syscalls=yes: a line when a system call begins, and one when it is answered. */
#include "runtime/syscalls/syscall.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/seam.h"

#define MOST_TEXT 200

static u64 show_arg(char *out, u64 room, const struct rt_syscall_arg *a, u64 value) {
    char text[MOST_TEXT];
    switch (a->kind) {
    case RT_ARG_32:
    case RT_ARG_FD:
    case RT_ARG_FOLDER: return (u64)rt_snprintf(out, room, "%d", (int)value);
    case RT_ARG_64: return (u64)rt_snprintf(out, room, "%ld", (long)value);
    case RT_ARG_STRING: {
        long n = value ? rt_strncpy_from(text, value, sizeof text - 1) : -1;
        if (n < 0) break;
        text[n < (long)sizeof text ? n : (long)sizeof text - 1] = 0;
        return (u64)rt_snprintf(out, room, "0x%lx(%s)", value, text);
    }
    default: break;
    }
    return (u64)rt_snprintf(out, room, "0x%lx", value);
}

void rt_show_call(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6]) {
    char text[6 * (MOST_TEXT + 40)];
    u64 at = 0;
    text[0] = 0;
    if (info != NULL) {
        const struct rt_syscall_described *d = rt_syscall_described(info);
        for (u32 i = 0; i < d->n; i++) {
            at += (u64)rt_snprintf(text + at, sizeof text - at, i ? ", " : "");
            at += show_arg(text + at, sizeof text - at, &d->args[i], args[i]);
        }
    }
    rt_say(ts, IP_SAY_RAW, "SYSCALL[%u,%lu](%ld) sys_%s ( %s ) --> ...", rt.pid, ts->tid_guest, nr,
           info != NULL ? info->name : "???", text);
}

void rt_show_answer(struct tstate *ts, long nr, long result) {
    if (result < 0 && result >= -4095)
        rt_say(ts, IP_SAY_RAW, "SYSCALL[%u,%lu](%ld) ... --> Failure(0x%lx)", rt.pid, ts->tid_guest, nr, (u64)-result);
    else
        rt_say(ts, IP_SAY_RAW, "SYSCALL[%u,%lu](%ld) ... --> Success(0x%lx)", rt.pid, ts->tid_guest, nr, (u64)result);
}

/* PTRACE_SET_SYSCALL_INFO (Linux 6.16) gives a call another number, arguments and result; where it does not fit the stop,
   or a number does not fit, it fails.  On older kernels it always does. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

enum { ENTRY = 1, EXIT = 2 };

struct info {
    uint8_t op, reserved;
    uint16_t flags;
    uint32_t arch;
    uint64_t ip, sp;
    union {
        struct {
            uint64_t nr, args[6], data;
        } entry;
        struct {
            int64_t value;
            uint8_t is_error;
        } exit;
    };
};

static void child(void) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    long first = syscall(SYS_getppid, 1, 2, 3, 4, 5, 6);
    long second = syscall(SYS_dup, 1000);
    long third = syscall(SYS_getppid);
    _exit(first == getpid() && second == 77 && third < 0 ? 3 : 4);
}

static void set(const char *what, pid_t pid, long size, struct info *info) {
    long r = ptrace(0x4212, pid, size, info);
    printf("%s: %s\n", what, r == 0 ? "set" : strerror(errno));
}

static struct info next(pid_t pid) {
    struct info info;
    int status;
    memset(&info, 0, sizeof info);
    ptrace(PTRACE_SYSCALL, pid, 0, 0);
    waitpid(pid, &status, 0);
    ptrace(0x420e, pid, sizeof info, &info);
    printf("stop %x, op %d\n", status, info.op);
    return info;
}

int main(void) {
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) child();
    waitpid(pid, &status, 0);
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    struct info info = {0};
    set("no call", pid, sizeof info, &info);

    info = next(pid);
    set("small", pid, sizeof info - 1, &info);
    info.flags = 1;
    set("flags", pid, sizeof info, &info);
    info.flags = 0, info.op = EXIT;
    set("another stop", pid, sizeof info, &info);
    info.op = ENTRY, info.entry.nr = 1ull << 32;
    set("number", pid, sizeof info, &info);
    info.entry.nr = SYS_getpid;
    info.entry.args[0] = 8;
    set("entry", pid, sizeof info, &info);
    info = next(pid);
    printf("itself %d\n", info.exit.value == pid);

    info = next(pid);
    info.entry.args[0] = 1;
    info.entry.nr = (uint64_t)-1;
    set("no number", pid, sizeof info, &info);
    info = next(pid);
    printf("%ld\n", (long)info.exit.value);
    info.exit.value = 77, info.exit.is_error = 0;
    set("result", pid, sizeof info, &info);

    next(pid);
    info = next(pid);
    info.exit.value = -EBADF, info.exit.is_error = 1;
    set("error", pid, sizeof info, &info);
    ptrace(PTRACE_CONT, pid, 0, 0);
    waitpid(pid, &status, 0);
    printf("%x\n", status);
    return 0;
}

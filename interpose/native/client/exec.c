/* Programs that the process executes, where the engine follows them (--trace-children=yes) or reports them: the
 * supervisor traces the thread before it does. And its end, which is to be in the report before anybody can ask for
 * that. All this may run in a child of vfork, on a small stack and in its parent's memory. */
#include "native/client/native.h"

#include <sys/syscall.h>

IP_PUBLIC long ip_native_execve(const char *path, char *const *argv, char *const *envp);
IP_PUBLIC long ip_native_execveat(int folder, const char *path, char *const *argv, char *const *envp, int flags);
IP_PUBLIC long ip_native_fexecve(int fd, char *const *argv, char *const *envp);
IP_PUBLIC void ip_native__exit(int code);

/* Descriptor numbers that are kept from the agent in the next program: programs print and compare the low ones. Those
 * that are taken here, for should there be no next program. */
struct low_numbers {
    uint64_t taken[IP_NATIVE_LOW / 64];
};

static void take_low_numbers(struct low_numbers *low) {
    struct {
        uint64_t soft, hard;
    } limit = {0, 0};
    for (int i = 0; i < IP_NATIVE_LOW / 64; i++) low->taken[i] = 0;
    sys4(SYS_prlimit64, 0, 7 /* RLIMIT_NOFILE */, 0, (long)&limit);
    long last = limit.soft > IP_NATIVE_LOW + IP_NATIVE_ROOM ? IP_NATIVE_LOW : (long)limit.soft - IP_NATIVE_ROOM;
    long spare = sys2(SYS_memfd_create, (long)IP_NATIVE_SPARE, 0);
    while (spare >= 0 && spare < last) {
        low->taken[spare / 64] |= 1ull << spare % 64;
        spare = sys1(SYS_dup, spare);
    }
    if (spare >= 0) sys1(SYS_close, spare);
}

static void leave_low_numbers(const struct low_numbers *low) {
    for (int fd = 0; fd < IP_NATIVE_LOW; fd++)
        if (low->taken[fd / 64] >> fd % 64 & 1) sys1(SYS_close, fd);
}

long ip_native_execve(const char *path, char *const *argv, char *const *envp) {
    struct low_numbers low;
    ip_native_tell(IP_NATIVE_EXEC, 0);
    take_low_numbers(&low);
    long result = ip_native_setup->execve(path, argv, envp);
    leave_low_numbers(&low);
    ip_native_tell(IP_NATIVE_NO_EXEC, 0);
    return result;
}

long ip_native_execveat(int folder, const char *path, char *const *argv, char *const *envp, int flags) {
    struct low_numbers low;
    ip_native_tell(IP_NATIVE_EXEC, 0);
    take_low_numbers(&low);
    long result = ip_native_setup->execveat(folder, path, argv, envp, flags);
    leave_low_numbers(&low);
    ip_native_tell(IP_NATIVE_NO_EXEC, 0);
    return result;
}

long ip_native_fexecve(int fd, char *const *argv, char *const *envp) {
    struct low_numbers low;
    ip_native_tell(IP_NATIVE_EXEC, 0);
    take_low_numbers(&low);
    long result = ip_native_setup->fexecve(fd, argv, envp);
    leave_low_numbers(&low);
    ip_native_tell(IP_NATIVE_NO_EXEC, 0);
    return result;
}

void ip_native__exit(int code) {
    ip_native_tell(IP_NATIVE_EXITS, (uint32_t)code & 0xff);
    ip_native_setup->exit(code);
}

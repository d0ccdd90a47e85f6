/* A socket's filter and a tracee's registers: what lies where the structure points.
 * @expect: Syscall param setsockopt(SOL_SOCKET, SO_ATTACH_FILTER, optval.filter) points to uninitialised byte(s)
 * @expect: Syscall param setsockopt(SOL_SOCKET, SO_ATTACH_FILTER, &optval.len) points to unaddressable byte(s)
 * @expect: Syscall param setsockopt(SOL_SOCKET, SO_ATTACH_FILTER, &optval.filter) points to unaddressable byte(s)
 * @expect: Syscall param ptrace(setregset *(iovec->iov_base)) points to uninitialised byte(s) at ptrace
 * @expect: Syscall param ptrace(getregset *(iovec->iov_base)) points to unaddressable byte(s) at ptrace */
#include <elf.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void) {
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    char *undefined = malloc(64);
    struct sock_fprog filter = {2, (struct sock_filter *)undefined};
    struct iovec registers = {undefined, 64};
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, (void *)16, sizeof filter);
    ptrace(PTRACE_SETREGSET, getpid(), NT_PRSTATUS, &registers); /* traced by nobody: it fails */
    registers.iov_base = (void *)16;
    ptrace(PTRACE_GETREGSET, getpid(), NT_PRSTATUS, &registers);
    free(undefined);
    close(fd);
    return 0;
}

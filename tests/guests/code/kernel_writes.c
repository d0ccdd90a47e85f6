/* The kernel writes to code: every call that fills a buffer, and a tracing parent. */
#include "code.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define TURNS 40
static uint8_t *p;
static int failed;

static void check(int value) { failed += ((fn)p)() != value; }

static void report(const char *name) {
    printf("%s: %d wrong\n", name, failed);
    failed = 0;
}

static void traced(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        put(p, 5);
        int before = ((fn)p)();
        require(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "traceme");
        raise(SIGSTOP);
        int after = ((fn)p)();
        raise(SIGSTOP);
        _exit(before * 10 + after + ((fn)p)());
    }
    int status;
    waitpid(child, &status, 0);
    for (int value = 6; value < 8; value++) {
        uint8_t code[8];
        put(code, value);
        code[6] = code[7] = 0x90;
        long word;
        memcpy(&word, code, 8);
        require(ptrace(PTRACE_POKETEXT, child, p, (void *)word) == 0, "poke");
        require(ptrace(PTRACE_CONT, child, NULL, NULL) == 0, "cont");
        waitpid(child, &status, 0);
    }
    printf("traced: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

int main(void) {
    int ends[2], pair[2];
    uint8_t code[6];
    p = map(8192, RWX);
    require(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "pipe");
    for (int i = 0; i < TURNS; i++) {
        put(code, i);
        write(ends[1], code, 6);
        read(ends[0], p, 6);
        check(i);
    }
    report("read");
    for (int i = 0; i < TURNS; i++) {
        put(code, i);
        struct iovec two[2] = {{p, 2}, {p + 2, 4}};
        write(ends[1], code, 6);
        readv(ends[0], two, 2);
        check(i);
    }
    report("readv");
    for (int i = 0; i < TURNS; i++) {
        put(code, i);
        write(pair[1], code, 6);
        recv(pair[0], p, 6, 0);
        check(i);
        put(code, i + 1);
        write(pair[1], code, 6);
        struct iovec one = {p, 6};
        struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1};
        recvmsg(pair[0], &m, 0);
        check(i + 1);
    }
    report("recv");
    int fd = memfd_create("bytes", 0);
    for (int i = 0; i < TURNS; i++) {
        put(code, i);
        pwrite(fd, code, 6, 0);
        pread(fd, p, 6, 0);
        check(i);
        put(code, i + 1);
        pwrite(fd, code, 6, 0);
        struct iovec one = {p, 6};
        preadv(fd, &one, 1, 0);
        check(i + 1);
    }
    report("pread");
    for (int i = 0; i < TURNS; i++) {
        put(code, i);
        struct iovec from = {code, 6}, to = {p, 6};
        require(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 6, "process_vm_writev");
        check(i);
        put(code, i + 1);
        require(process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 6, "process_vm_readv");
        check(i + 1);
    }
    report("process_vm");
    int mem = open("/proc/self/mem", O_RDWR);
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/task/%d/mem", getpid(), getpid());
    int other = open(name, O_RDWR);
    mprotect(p, 4096, RX);
    for (int i = 0; i < TURNS; i++) {
        put(code, i);
        require(pwrite(mem, code, 6, (off_t)(uintptr_t)p) == 6, "mem");
        check(i);
        put(code, i + 1);
        require(pwrite(other, code, 6, (off_t)(uintptr_t)p) == 6, "task mem");
        check(i + 1);
    }
    report("mem");
    mprotect(p, 4096, RWX);
    for (int i = 0; i < TURNS; i++) {
        mprotect(p, 4096, RWX);
        put(p, 3);
        check(3);
        require(madvise(p, 4096, MADV_DONTNEED) == 0, "madvise");
        failed += p[0] != 0;
        put(p, 4);
        check(4);
    }
    report("madvise");
    traced();
    return 0;
}

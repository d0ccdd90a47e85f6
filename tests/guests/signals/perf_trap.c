/* A watched variable's event of perf_event_open sends SIGTRAP, which names the variable, behind each access. */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long watched, other, room[4];
static volatile int got;
extern char begin[];
static struct { int code, here; long pc; unsigned long data; } seen[32];

static void handler(int sig, siginfo_t *si, void *context) {
    unsigned long data;
    (void)sig;
    memcpy(&data, (char *)si + 24, 8); /* si_perf_data */
    if (got < 32) {
        seen[got].code = si->si_code;
        seen[got].here = si->si_addr == (void *)&watched;
        seen[got].pc = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] - (long)begin;
        seen[got].data = data;
    }
    got++;
}

/* A store behind it, a load, one and two accesses of one instruction, and elements of one. */
__attribute__((noinline)) static void access_it(long value) {
    const volatile void *from = room;
    volatile void *to = &watched;
    long n = 8;
    __asm__ volatile(".globl begin\nbegin: movq %2, %0\n movq $6, %1" : "=m"(watched), "=m"(other) : "r"(value));
    __asm__ volatile("mov %1, %%rax\n mov %%rax, %0" : "=m"(other) : "m"(watched) : "rax");
    __asm__ volatile("lock addq $2, %0\n addq $3, %0\n add %1, %0" : "+m"(watched) : "r"(n));
    __asm__ volatile("sub $128, %%rsp\n pushq %0\n popq %1\n add $128, %%rsp" : "+m"(watched), "=m"(other));
    __asm__ volatile("nop\n rep movsb\n nop" : "+S"(from), "+D"(to), "+c"(n) : : "memory");
    __asm__ volatile("shlq $3, %0\n mov %0, %%rax\n shl $2, %%rax\n mov %%rax, %1"
                     : "+m"(watched), "=m"(other) : : "rax");
    __asm__ volatile("movups %0, %%xmm1\n movups %%xmm1, %1" : : "m"(watched), "m"(room) : "xmm1", "memory");
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof attr, .sample_period = 1};
    sigset_t set;
    attr.bp_type = HW_BREAKPOINT_RW;
    attr.bp_addr = (unsigned long)&watched;
    attr.bp_len = HW_BREAKPOINT_LEN_8;
    attr.remove_on_exec = attr.sigtrap = attr.exclude_kernel = attr.exclude_hv = 1;
    attr.sig_data = 0x1234567890;
    sigaction(SIGTRAP, &sa, NULL);
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        puts("no such events here");
        return 0;
    }
    volatile long *undefined = malloc(sizeof *undefined);
    access_it(5);
    access_it(*undefined);
    int before = got;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    access_it(5);
    int blocked = got;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    int unblocked = got;
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    access_it(5);
    printf("%d %d %d %d\n", before, blocked, unblocked, got);
    for (int i = 0; i < before && i < 32; i++)
        printf("code %d addr %d pc %ld data %lx\n", seen[i].code, seen[i].here, seen[i].pc, seen[i].data);
    return 0;
}

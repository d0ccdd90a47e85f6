/* A tracer writes to code that its tracee has run often: by ptrace and by /proc/PID/mem. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

static volatile int *shared;
__attribute__((noinline)) static int constant(void) {
    int r;
    __asm__ volatile(".globl in_text\nin_text: mov $1, %0" : "=r"(r));
    return r;
}
extern unsigned char in_text[];
static unsigned char *in_page;

static void child(void) {
    for (;;) {
        shared[0]++;
        shared[1] = constant();
        shared[2] = ((int (*)(void))in_page)();
    }
}
static int st;
static pid_t p;
static void run(void) {
    ptrace(PTRACE_CONT, p, 0, 0);
    for (int n = shared[0]; shared[0] - n < 10;) sched_yield();
    ptrace(PTRACE_INTERRUPT, p, 0, 0);
    waitpid(p, &st, 0);
    printf("runs: text %d page %d, stop %d\n", shared[1], shared[2], st >> 16);
}
static void hit(unsigned char *at) {
    struct user_regs_struct r;
    ptrace(PTRACE_CONT, p, 0, 0);
    waitpid(p, &st, 0);
    ptrace(PTRACE_GETREGS, p, 0, &r);
    printf("hit %d at %d\n", WSTOPSIG(st), (int)(r.rip - (long)at));
    r.rip = (long)at;
    ptrace(PTRACE_SETREGS, p, 0, &r);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    static const unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3, 0, 0};
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    in_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(in_page, code, sizeof code);
    p = fork();
    if (p == 0) child();
    while (shared[0] < 1000) sched_yield();
    ptrace(PTRACE_SEIZE, p, 0, PTRACE_O_EXITKILL);
    ptrace(PTRACE_INTERRUPT, p, 0, 0);
    waitpid(p, &st, 0);
    run();
    /* By ptrace. */
    long word = ptrace(PTRACE_PEEKTEXT, p, in_text, 0), page = ptrace(PTRACE_PEEKTEXT, p, in_page, 0);
    ptrace(PTRACE_POKETEXT, p, in_text, (word & ~0xffl) | 0xcc);
    hit(in_text);
    ptrace(PTRACE_POKETEXT, p, in_text, word);
    ptrace(PTRACE_POKEDATA, p, in_page, (page & ~0xff00l) | 0x200);
    run();
    /* By its memory file. */
    char name[40];
    sprintf(name, "/proc/%d/mem", p);
    int fd = open(name, O_RDWR);
    unsigned char int3 = 0xcc, three = 3;
    printf("mem %zd\n", pwrite(fd, &int3, 1, (off_t)in_text));
    hit(in_text);
    pwrite(fd, &word, 8, (off_t)in_text);
    pwrite(fd, &three, 1, (off_t)in_page + 1);
    run();
    close(fd);
    kill(p, SIGKILL);
    return 0;
}

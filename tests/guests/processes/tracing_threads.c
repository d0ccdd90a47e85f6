/* Attaching to the threads of another process, as a crash handler's child does, and stops of the whole process. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

extern char spin_loop[], read_call[];
static volatile int ready;
static int ends[2];
static pid_t tids[3];

static void *spin(void *arg) {
    tids[1] = syscall(SYS_gettid);
    __sync_fetch_and_add(&ready, 1);
    __asm__ volatile("mov $0x1234, %%ebx\n mov $0x5678, %%r12d\n .globl spin_loop\nspin_loop: inc %%rax\n jmp spin_loop" : : : "rax", "rbx", "r12");
    return arg;
}
static void *reader(void *arg) {
    char c;
    tids[2] = syscall(SYS_gettid);
    __sync_fetch_and_add(&ready, 1);
    long from = ends[0];
    __asm__ volatile("mov %0, %%rdi\n mov %1, %%rsi\n mov $1, %%edx\n xor %%eax, %%eax\n mov $0x9abc, %%ebx\n syscall\n"
                     ".globl read_call\nread_call:" : : "r"(from), "r"(&c) : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r11", "memory");
    return arg;
}
static void until(pid_t tid, const char *call) {
    char name[60], text[40] = "";
    sprintf(name, "/proc/%d/syscall", tid);
    while (strncmp(text, call, strlen(call)) != 0) {
        FILE *f = fopen(name, "r");
        if (f == NULL || fgets(text, sizeof text, f) == NULL) return;
        fclose(f);
    }
}
static void look(pid_t tid) {
    struct user_regs_struct r;
    memset(&r, 0, sizeof r);
    printf("regs %ld", ptrace(PTRACE_GETREGS, tid, 0, &r));
    if (r.rip >= (long)spin_loop && r.rip < (long)spin_loop + 5)
        printf(" spins rbx %llx r12 %llx orig %lld\n", r.rbx, r.r12, (long)r.orig_rax);
    else if (r.rip == (long)read_call)
        printf(" reads rax %lld rbx %llx orig %lld\n", (long)r.rax, r.rbx, (long)r.orig_rax);
    else
        printf(" main orig %lld\n", (long)r.orig_rax);
}
static int stop(pid_t tid) {
    int st = 0;
    if (waitpid(tid, &st, __WALL) != tid) printf("waitpid %d\n", errno);
    return st;
}

static void attach_all(void) {
    for (int i = 0; i < 3; i++) {
        printf("attach %ld ", ptrace(PTRACE_ATTACH, tids[i], 0, 0));
        int st = stop(tids[i]);
        printf("stop %d event %d ", WSTOPSIG(st), st >> 16);
        look(tids[i]);
    }
    for (int i = 0; i < 3; i++) printf("detach %ld\n", ptrace(PTRACE_DETACH, tids[i], 0, 0));
}

/* All three threads are where they are looked at: the one that spins always is. */
static void back_in_calls(void) {
    until(tids[0], "61 0x");
    until(tids[2], "0 0x");
}

/* Seized, stopped by a signal, stopped as a whole, continued. */
static void group(void) {
    int st;
    for (int i = 0; i < 3; i++) printf("seize %ld\n", ptrace(PTRACE_SEIZE, tids[i], 0, 0));
    syscall(SYS_tgkill, tids[0], tids[1], SIGSTOP);
    st = stop(tids[1]);
    printf("stop %d event %d ", WSTOPSIG(st), st >> 16);
    look(tids[1]);
    ptrace(PTRACE_CONT, tids[1], 0, SIGSTOP);
    for (int i = 0; i < 3; i++) {
        st = stop(tids[i]);
        printf("%d: stop %d event %d ", i, WSTOPSIG(st), st >> 16);
        look(tids[i]);
    }
    for (int i = 0; i < 3; i++) printf("listen %ld\n", ptrace(PTRACE_LISTEN, tids[i], 0, 0));
    kill(tids[0], SIGCONT);
    int conts = 0, traps = 0;
    while (traps < 3 || conts < 1) {
        pid_t t = waitpid(-1, &st, __WALL);
        if (t < 0) break;
        int sig = WSTOPSIG(st);
        if (st >> 16) traps++; else conts += sig == SIGCONT;
        ptrace(PTRACE_CONT, t, 0, st >> 16 ? 0 : sig);
    }
    printf("traps %d continued %d\n", traps, conts);
    back_in_calls();
    for (int i = 0; i < 3; i++) {
        ptrace(PTRACE_INTERRUPT, tids[i], 0, 0);
        st = stop(tids[i]);
        printf("%d: stop %d event %d ", i, WSTOPSIG(st), st >> 16);
        look(tids[i]);
        printf("detach %ld\n", ptrace(PTRACE_DETACH, tids[i], 0, 0));
    }
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_t t;
    pipe(ends);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    tids[0] = getpid();
    pthread_create(&t, NULL, spin, NULL);
    pthread_create(&t, NULL, reader, NULL);
    while (ready < 2) sched_yield();
    until(tids[2], "0 0x");
    for (int i = 0; i < 2; i++) {
        int st;
        pid_t p = fork();
        if (p == 0) {
            back_in_calls();
            i ? group() : attach_all();
            _exit(0);
        }
        waitpid(p, &st, 0);
        printf("tracer: %x\n", st);
    }
    _exit(0);
}

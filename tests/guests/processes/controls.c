/* prctl, arch_prctl, personality, nice, umask, priorities: what a process may ask of the kernel for itself. */
// errors: yes
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#endif
#define SHOW(...) show(#__VA_ARGS__, prctl(__VA_ARGS__))
static void show(const char *what, long r) { printf("%s: %ld %s\n", what, r, r < 0 ? strerrorname_np(errno) : ""); }
static long arch(int code, unsigned long arg) { return syscall(SYS_arch_prctl, code, arg); }

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    char name[17] = "";
    SHOW(PR_SET_NAME, "a name longer than sixteen");
    SHOW(PR_GET_NAME, name);
    printf("%s\n", name);
    int sig = -1;
    SHOW(PR_SET_PDEATHSIG, SIGUSR1);
    SHOW(PR_GET_PDEATHSIG, &sig);
    printf("%d\n", sig);
    SHOW(PR_SET_PDEATHSIG, 900);
    SHOW(PR_SET_DUMPABLE, 0);
    SHOW(PR_GET_DUMPABLE);
    SHOW(PR_SET_DUMPABLE, 1);
    SHOW(PR_SET_DUMPABLE, 2);
    SHOW(PR_GET_DUMPABLE);
    SHOW(PR_SET_KEEPCAPS, 1);
    SHOW(PR_GET_KEEPCAPS);
    SHOW(PR_SET_KEEPCAPS, 7);
    SHOW(PR_SET_TIMERSLACK, 12345);
    SHOW(PR_GET_TIMERSLACK);
    SHOW(PR_SET_TIMERSLACK, 0);
    SHOW(PR_GET_TIMING);
    SHOW(PR_SET_TIMING, PR_TIMING_TIMESTAMP);
    unsigned v = 0;
    SHOW(PR_GET_ENDIAN, &v);
    SHOW(PR_GET_FPEXC, &v);
    SHOW(PR_GET_UNALIGN, &v);
    SHOW(PR_GET_TSC, &v);
    printf("%u\n", v);
    SHOW(PR_CAPBSET_READ, 0);
    SHOW(PR_CAPBSET_READ, 63);
    SHOW(PR_CAPBSET_DROP, 63);
    SHOW(PR_GET_SECUREBITS);
    SHOW(PR_SET_SECUREBITS, 1 << 30);
    SHOW(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 0, 0);
    SHOW(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    SHOW(PR_CAP_AMBIENT, 99, 0, 0, 0);
    SHOW(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    SHOW(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
    SHOW(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    SHOW(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    SHOW(PR_GET_SECCOMP);
    SHOW(PR_SET_CHILD_SUBREAPER, 1);
    int reaper = 0;
    SHOW(PR_GET_CHILD_SUBREAPER, &reaper);
    printf("%d\n", reaper);
    SHOW(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    SHOW(PR_GET_THP_DISABLE, 0, 0, 0, 0);
    SHOW(PR_MCE_KILL_GET, 0, 0, 0, 0);
    SHOW(PR_GET_IO_FLUSHER, 0, 0, 0, 0);
    SHOW(PR_GET_SPECULATION_CTRL, 9, 0, 0, 0);
    SHOW(PR_SET_MM, 99, 0, 0, 0);
    SHOW(PR_SET_VMA, 0, &v, 4096, "x");
    SHOW(PR_GET_MDWE, 0, 0, 0, 0);
    SHOW(9999);
    SHOW(PR_TASK_PERF_EVENTS_DISABLE);
    int *tid = NULL;
    SHOW(PR_GET_TID_ADDRESS, &tid);
    printf("tid address %d\n", tid != NULL && *tid == gettid());

    unsigned long base = 1;
    show("GET_FS", arch(0x1003, (unsigned long)&base));
    printf("fs %d\n", base == *(unsigned long *)__builtin_thread_pointer());
    static long cell[2] = {42, 43};
    show("SET_GS", arch(0x1001, (unsigned long)cell));
    long got;
    __asm__("mov %%gs:8, %0" : "=r"(got));
    show("GET_GS", arch(0x1004, (unsigned long)&base));
    printf("gs %d %ld\n", base == (unsigned long)cell, got);
    show("SET_GS bad", arch(0x1001, 0x800000000000ul));
    show("GET_GS fault", arch(0x1004, 8));
    show("CET status", arch(0x3001, (unsigned long)&base));
    show("unknown", arch(0x7777, 0));
    show("GET_CPUID", arch(0x1011, 0));

    printf("umask %03o", umask(027));
    printf(" %03o\n", umask(022));
    struct stat st;
    char file[] = "/tmp/controls-XXXXXX";
    close(mkstemp(file));
    unlink(file);
    umask(077);
    close(open(file, O_CREAT | O_RDWR, 0666));
    stat(file, &st);
    printf("made %03o\n", st.st_mode & 0777);
    unlink(file);
    errno = 0;
    printf("nice %d", nice(5));
    printf(" getpriority %d", getpriority(PRIO_PROCESS, 0));
    printf(" setpriority %d %d\n", setpriority(PRIO_PROCESS, 0, 10), getpriority(PRIO_PROCESS, 0));
    struct sched_param par = {0};
    printf("batch %d %d\n", sched_setscheduler(0, SCHED_BATCH, &par), sched_getscheduler(0));
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    printf("affinity %d", sched_setaffinity(0, sizeof set, &set));
    printf(" %d cpu %d\n", sched_getaffinity(0, sizeof set, &set) ? -1 : CPU_COUNT(&set), sched_getcpu());
    int old = personality(0xffffffff);
    printf("personality %d", personality(old | ADDR_NO_RANDOMIZE) == old);
    printf(" %d\n", (personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0);
    pid_t p = fork();
    if (p == 0) {
        char child[17];
        prctl(PR_GET_NAME, child);
        printf("child: %s, pdeathsig ", child);
        prctl(PR_GET_PDEATHSIG, &sig);
        printf("%d, no new privileges %d, subreaper ", sig, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
        prctl(PR_GET_CHILD_SUBREAPER, &reaper);
        printf("%d, nice %d, personality %d\n", reaper, getpriority(PRIO_PROCESS, 0), (personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0);
        execl("/bin/sh", "sh", "-c", "grep -c NoNewPrivs:.1 /proc/self/status; exit 0", NULL);
    }
    waitpid(p, NULL, 0);
    show("MDWE", prctl(PR_SET_MDWE, 1, 0, 0, 0));
    void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("writable code %s\n", m == MAP_FAILED ? strerrorname_np(errno) : "mapped");
    m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("made code %s\n", mprotect(m, 4096, PROT_READ | PROT_EXEC) ? strerrorname_np(errno) : "mapped");
    return 0;
}

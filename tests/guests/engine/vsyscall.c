/* The vsyscall page, called and jumped to, before and after somebody can look at flags; a bad argument. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static sigjmp_buf out;
static void *volatile fault_pc;

static int is_there(void) {
    char line[300];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)) found |= strstr(line, "[vsyscall]") != NULL;
    fclose(f);
    return found;
}

static void handler(int sig, siginfo_t *si, void *context) { siglongjmp(out, si->si_signo); }

/* RAX, and whether RCX, R11 and the stack are as they were. */
static long made(unsigned long entry, void *a, void *b, int *kept) {
    long result, rcx = 11, moved;
    register long r11 __asm__("r11") = 22;
    __asm__ volatile("movq %%rsp, %4\n\tcall *%%rax\n\tsubq %%rsp, %4"
                     : "=a"(result), "+D"(a), "+S"(b), "+c"(rcx), "=&r"(moved), "+r"(r11)
                     : "0"(entry), "d"(0L)
                     : "memory");
    *kept = moved == 0 && rcx == 11 && r11 == 22;
    return result;
}

__attribute__((noinline)) static long by_jump(time_t *t) {
    long result;
    __asm__ volatile("leaq 1f(%%rip), %%rcx\n\tpushq %%rcx\n\tjmp *%%rax\n1:"
                     : "=a"(result), "+D"(t)
                     : "0"(0xffffffffff600400)
                     : "rcx", "r11", "rsi", "rdx", "memory");
    return result;
}

static void all(void) {
    struct timeval tv = {0}, now;
    time_t t = 0, later;
    unsigned cpu = 9999, node = 9999;
    int kept;
    long r = made(0xffffffffff600000, &tv, NULL, &kept);
    gettimeofday(&now, NULL);
    printf("gettimeofday %ld %d %d\n", r, kept, now.tv_sec - tv.tv_sec < 60);
    r = made(0xffffffffff600400, &t, NULL, &kept);
    later = time(NULL);
    printf("time %d %d %d\n", r == t, kept, later - t < 60);
    r = made(0xffffffffff600800, &cpu, &node, &kept);
    printf("getcpu %ld %d %d\n", r, kept, cpu < 9999 && node < 9999);
    printf("jump %d\n", by_jump(NULL) - later < 60);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    int kept;
    if (!is_there()) return puts("no vsyscall page") < 0;
    all();
    sigaction(SIGSEGV, &sa, NULL);
    all();
    int sig = sigsetjmp(out, 1);
    if (!sig) made(0xffffffffff600400, (void *)8, NULL, &kept);
    printf("bad argument %d\n", sig);
    if (!(sig = sigsetjmp(out, 1))) made(0xffffffffff600401, NULL, NULL, &kept);
    printf("no entry %d\n", sig);
    all();
    return 0;
}

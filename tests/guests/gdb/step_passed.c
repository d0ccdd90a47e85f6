#include <signal.h>
#include <sys/syscall.h>
volatile int ticks;
void on(int n) { ticks++; }
int main(void) {
    sigset_t set;
    long result;
    register long size __asm__("r10") = 8;
    signal(SIGALRM, on);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, 0);
    raise(SIGALRM);
    size = 8;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_rt_sigprocmask), "D"(SIG_UNBLOCK), "S"(&set), "d"(0), "r"(size) : "rcx", "r11", "memory");
    ticks += 10;
    return ticks;
}

/* What a fault's handler blocks waits until it has returned, also if it comes when the fault is there and the handler
 * has not begun. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

static char *page;
static volatile int alarms, amid, value;

static void on_alarm(int sig, siginfo_t *info, void *context) {
    (void)sig;
    alarms++;
    value = info->si_value.sival_int;
    amid += sigismember(&((ucontext_t *)context)->uc_sigmask, SIGALRM);
}

static void on_fault(int sig) {
    (void)sig;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

int main(void) {
    struct sigaction alarm = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
    struct sigaction fault = {.sa_handler = on_fault};
    sigaddset(&fault.sa_mask, SIGALRM);
    sigaction(SIGALRM, &alarm, NULL);
    sigaction(SIGSEGV, &fault, NULL);
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM, .sigev_value.sival_int = 7};
    struct itimerspec once = {.it_value.tv_nsec = 100000000};
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &how, &timer);
    timer_settime(timer, 0, &once, NULL);
    *(volatile char *)page = 1;
    while (!alarms) {}
    printf("%d, value %d, amid the handler %d\n", alarms, value, amid);
    return 0;
}

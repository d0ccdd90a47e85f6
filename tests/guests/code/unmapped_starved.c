/* Code that is taken away while the thread in it waits long for a CPU: it does not end an instruction afterwards. */
// flags: -pthread
#include "code.h"
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURNS 6
static uint8_t *page;
static volatile long counter;
static sigjmp_buf back;
static atomic_int faults, ready, greedy;

static void on_fault(int sig) {
    (void)sig;
    siglongjmp(back, 1);
}

static void stay_on_first_cpu(void) {
    cpu_set_t set;
    int cpu = 0;
    sched_getaffinity(0, sizeof set, &set);
    while (!CPU_ISSET(cpu, &set)) cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *takes_the_cpu(void *arg) {
    stay_on_first_cpu();
    while (greedy >= 0)
        if (!greedy) usleep(100);
    return arg;
}

static void *runs(void *arg) {
    stay_on_first_cpu();
    setpriority(PRIO_PROCESS, syscall(SYS_gettid), 19);
    for (int k = 0; k < TURNS; k++) {
        while (ready <= k) sched_yield();
        if (sigsetjmp(back, 1) == 0) ((void (*)(volatile long *))(void *)page)(&counter);
        faults++;
    }
    return arg;
}

int main(void) {
    struct sigaction sa = {.sa_handler = on_fault};
    pthread_t other, t;
    int late = 0;
    sigaction(SIGSEGV, &sa, NULL);
    pthread_create(&other, NULL, takes_the_cpu, NULL);
    pthread_create(&t, NULL, runs, NULL);
    for (int k = 0; k < TURNS; k++) {
        page = map(4096, RW);
        for (int i = 0; i < 4000; i += 3) memcpy(page + i, "\x48\xff\x07", 3); /* inc qword [rdi] */
        memcpy(page + 4002, "\xe9\x59\xf0\xff\xff", 5);                        /* to the first */
        mprotect(page, 4096, RX);
        long before = counter;
        ready = k + 1;
        while (counter < before + 20000) {}
        greedy = 1;
        usleep(20000);
        munmap(page, 4096);
        long then = counter;
        while (faults <= k) greedy = 0;
        late += counter != then;
    }
    greedy = -1;
    pthread_join(t, NULL);
    pthread_join(other, NULL);
    printf("%d faults, %d late\n", faults, late);
    return 0;
}

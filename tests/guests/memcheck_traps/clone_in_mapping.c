/* A thread's stack in the middle of a mapping that holds data below it (Go's
 * runtime): clone without a size says nothing about them. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

static long *data;

static int body(void *arg) {
    long sum = 0;
    for (int k = 0; k < 1000; k++)
        sum += data[k] > 3 ? data[k] : 1;
    *(long *)arg = sum;
    return 0;
}

int main(void) {
    long sum = 0;
    char *area = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = (long *)area;
    for (int k = 0; k < 1000; k++)
        data[k] = k;
    int pid = clone(body, area + (1 << 20), CLONE_VM | CLONE_VFORK | SIGCHLD, &sum);
    waitpid(pid, NULL, 0);
    printf("%ld\n", sum);
    return 0;
}

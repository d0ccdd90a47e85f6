/* Structures that say themselves how long they are: one report of a size that is wrong, else of what it covers. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 0x7fffffff

int main(void) {
    unsigned *undefined = malloc(48), *partly = malloc(48), *shorter = malloc(20), *event = malloc(128);
    syscall(SYS_sched_setattr, NOBODY, undefined, 0);
    partly[0] = 48;
    syscall(SYS_sched_setattr, NOBODY, partly, 0);
    memset(shorter, 0, 20);
    syscall(SYS_sched_setattr, NOBODY, (char *)shorter + 18, 0);
    shorter[0] = 48;
    syscall(SYS_sched_setattr, NOBODY, shorter, 0);
    event[0] = 99;
    syscall(SYS_perf_event_open, event, 0, -1, -1, 0);
    syscall(SYS_perf_event_open, (char *)shorter + 14, 0, -1, -1, 0);
    free(undefined);
    free(partly);
    free(shorter);
    free(event);
    return 0;
}

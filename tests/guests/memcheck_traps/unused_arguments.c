/* Arguments that a call with several uses does not look at may hold anything; the C library's variadic functions
 * pass what they find.  Those that must be zero are looked at.
 * @expect: Syscall param prctl(arg4) contains uninitialised byte(s) at call
 * @expect: Syscall param prctl(arg5) contains uninitialised byte(s) at call
 * @expect: Syscall param fcntl(arg) contains uninitialised byte(s) at call
 * @expect: Syscall param mq_open(attr->mq_maxmsg) points to uninitialised byte(s) at call
 * @expect: Syscall param mq_open(attr->mq_msgsize) points to uninitialised byte(s) at call
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

__attribute__((noinline)) static long call(long nr, long a, long b, long c, long d, long e) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    return r;
}

int main(void) {
    long fd = open("/dev/null", O_RDWR), *g = malloc(1200);
    long calls[] = {call(SYS_fcntl, fd, F_GETFD, g[0], 0, 0), call(SYS_fcntl, fd, F_GETOWN, g[1], 0, 0),
                    call(SYS_ioctl, fd, FIOCLEX, g[2], 0, 0), call(SYS_ioctl, fd, FIONCLEX, g[3], 0, 0)};
    for (int i = 0; i < 4; i++)
        printf("%ld ", calls[i]);
    call(SYS_mq_open, (long)"none-of-that-name", O_RDONLY, g[4], (long)(g + 60), 0);
    call(SYS_mq_open, (long)"interpose-no-attributes", O_RDONLY | O_CREAT, 0600, 0, 0);
    mq_unlink("/interpose-no-attributes");
    struct mq_attr *at = (void *)(g + 20);
    at->mq_maxmsg = -1; /* nothing is made */
    at->mq_msgsize = 8;
    call(SYS_mq_open, (long)"none-of-that-name", O_RDONLY | O_CREAT, 0600, (long)at, 0);
    struct timex *t = (void *)(g + 60);
    t->modes = 0;
    printf("%d ", call(SYS_clock_adjtime, 0, (long)t, 0, 0, 0) >= 0 && t->tick > 0);
    struct timex *asked = (void *)(g + 120);
    asked->modes = ADJ_OFFSET_SS_READ;
    printf("%d ", call(SYS_adjtimex, (long)asked, 0, 0, 0, 0) >= 0);
    call(SYS_keyctl, 0, -3, 0, g[5], g[6]);
    long s = semget(IPC_PRIVATE, 1, 0600);
    printf("%ld ", call(SYS_semctl, s, 0, GETVAL, g[7], 0));
    call(SYS_semctl, s, 0, IPC_RMID, g[8], 0);
    printf("%ld ", call(SYS_prctl, PR_GET_DUMPABLE, g[9], g[10], g[11], 0));
    printf("%ld\n", call(SYS_prctl, PR_SET_PDEATHSIG, 0, g[10], g[11], 0));

    call(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, g[11], g[12]);
    call(SYS_fcntl, -1, F_SETFD, g[13], 0, 0);
    call(SYS_mq_open, (long)"none-of-that-name", O_RDONLY | O_CREAT, 0600, (long)(g + 40), 0);
    mq_unlink("/none-of-that-name"); /* if garbage was good enough */
    free(g);
    return 0;
}

/* What the C library is called for at the end (freeres) faults on what the program has broken: the status stays the
 * program's, and its handler, which natively nothing calls, is not called. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define OF_TABLE 0xd8 /* in glibc's FILE: the functions of the stream */

static void handler(int sig) {
    (void)sig;
    _exit(9);
}

int main(void) {
    signal(SIGSEGV, handler);
    FILE *f = fopen("/dev/null", "w");
    fputs("x", f);
    *(void **)((char *)f + OF_TABLE) = NULL;
    _exit(3);
}

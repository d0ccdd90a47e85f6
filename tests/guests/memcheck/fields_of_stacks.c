/* Each field of what sigaltstack is given is told. @options: -q */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "valgrind/memcheck.h"

static void __attribute__((noinline)) first(stack_t *s) { syscall(SYS_sigaltstack, s, NULL); }
static void __attribute__((noinline)) second(stack_t *s) { syscall(SYS_sigaltstack, s, NULL); }

int main(void) {
    stack_t *s = calloc(1, sizeof *s);
    VALGRIND_MAKE_MEM_NOACCESS((char *)s + 2, 1);
    VALGRIND_MAKE_MEM_UNDEFINED(&s->ss_flags, sizeof s->ss_flags);
    first(s); /* two errors */
    VALGRIND_MAKE_MEM_DEFINED(s, sizeof *s);
    VALGRIND_MAKE_MEM_UNDEFINED(&s->ss_size, sizeof s->ss_size);
    second(s);
    VALGRIND_MAKE_MEM_UNDEFINED((char *)s + 12, 4); /* the hole */
    VALGRIND_MAKE_MEM_DEFINED(&s->ss_size, sizeof s->ss_size);
    second(s);
    return 0;
}

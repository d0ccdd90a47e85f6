/* The number of a system call has to be defined, all 64 bits of it.
 *
 * @options: --gen-suppressions=all
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <valgrind/memcheck.h>

static long call(long number) {
    __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
    return number;
}

int main(void) {
    volatile long *number = malloc(sizeof *number);
    *number = SYS_getppid;
    (void)VALGRIND_MAKE_MEM_UNDEFINED(number, 1);
    call(SYS_getppid | (*number & 0)); /* defined: no error */
    call(*number);
    syscall(*number);
    (void)VALGRIND_MAKE_MEM_DEFINED(number, 1);
    (void)VALGRIND_MAKE_MEM_UNDEFINED((volatile int *)number + 1, 4); /* of a number that was an int, the other half */
    call(*number);
    call((int)*number);
    free((void *)number);
    return 0;
}

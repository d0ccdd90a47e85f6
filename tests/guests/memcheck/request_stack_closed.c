/* What the program has closed on its stack: an access names the function whose frame it is, the innermost one, too. */
#include <fcntl.h>
#include <unistd.h>
#include <valgrind/memcheck.h>

__attribute__((noinline)) static int add(const int *p) {
    int sum = 1;
    __asm__ volatile("addl (%1), %0" : "+r"(sum) : "r"(p));
    return sum;
}

int main(void) {
    int values[6] = {0}, sum = 1, fd = open("/dev/null", O_WRONLY);
    const int *volatile closed = &values[4];
    VALGRIND_MAKE_MEM_NOACCESS(&values[4], sizeof values[4]);
    sum += add(closed);
    __asm__ volatile("addl (%1), %0" : "+r"(sum) : "r"(closed));
    __asm__ volatile("movl (%1), %0" : "=r"(sum) : "r"(closed));
    __asm__ volatile("movd (%0), %%xmm0" : : "r"(closed) : "xmm0");
    sum = 1;
    write(fd, closed, 4);
    VALGRIND_MAKE_MEM_DEFINED(&values[4], sizeof values[4]);
    return sum - 1 - values[4];
}

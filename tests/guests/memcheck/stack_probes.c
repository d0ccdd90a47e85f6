/* Pages of a frame that are touched before it is made, for nothing but the touch (compilers' stack probes: Zig's): the
   flags are overwritten, and nothing is reported.  Where flags are used it is. */
#include <stdio.h>
#include <stdlib.h>

static void probe(void) {
    __asm__ volatile("test %%esp, -0x1000(%%rsp)\n\t"
                     "test %%esp, -0x2000(%%rsp)\n\t"
                     "test %%esp, -0x3000(%%rsp)\n\t"
                     "sub $0x3000, %%rsp\n\t"
                     "movq $0, (%%rsp)\n\t"
                     "add $0x3000, %%rsp"
                     :
                     :
                     : "cc", "memory");
}

static int use(void) {
    unsigned char zero;
    __asm__ volatile("test %%esp, -0x1000(%%rsp)\n\t"
                     "setz %0"
                     : "=r"(zero)
                     :
                     : "cc", "memory");
    return zero;
}

static int compare(const char *at) {
    unsigned char equal;
    __asm__ volatile("cmpb $1, (%1)\n\t" /* of no use */
                     "cmpb $2, 1(%1)\n\t"
                     "sete %0"
                     : "=r"(equal)
                     : "r"(at)
                     : "cc", "memory");
    return equal;
}

int main(void) {
    char *freed = malloc(8);
    for (int i = 0; i < 3; i++) probe();
    int n = use() > 1;
    free(freed);
    n += compare(freed) > 1;
    printf("%d\n", n);
    return 0;
}

/* Functions whose symbols are of another type: assembly does that.  Of these Valgrind wraps data symbols in code. */
#include "header.h"

#define MADE(name, type)                                                                                               \
    __asm__(".pushsection .text\n.balign 16\n.globl " #name "\n.type " #name ", " type "\n" #name                      \
            ": mov $5, %eax\n ret\n.size " #name ", . - " #name "\n.popsection");                                      \
    int name(void);                                                                                                    \
    int I_WRAP_SONAME_FNNAME_ZU(NONE, name)(void) {                                                                    \
        int result;                                                                                                    \
        OrigFn fn;                                                                                                     \
        VALGRIND_GET_ORIG_FN(fn);                                                                                      \
        CALL_FN_W_v(result, fn);                                                                                       \
        return result + 100;                                                                                           \
    }

MADE(function, "@function")
MADE(object, "@object")
MADE(unique, "@gnu_unique_object")
MADE(untyped, "@notype")

int main(void) {
    printf("%d %d %d %d\n", function(), object(), unique(), untyped());
    return 0;
}

/* LOOK(p) has memcheck report the byte at p.  Behind it stands what it has to be called: of a variable itself in full,
 * of a part without the kind of the variable, @ and the line of its declaration, # and the number of its frame.
 * (valgrind: ...) says that Valgrind 3.19 calls it otherwise.  Each look has a line of its own. */
#include <interpose/memcheck.h>
#ifdef __cplusplus
extern "C"
#endif
__attribute__((noinline)) void LOOK(const volatile void *p) {
    VALGRIND_MAKE_MEM_UNDEFINED(p, 1);
    (void)VALGRIND_CHECK_MEM_IS_DEFINED(p, 1);
    VALGRIND_MAKE_MEM_DEFINED(p, 1);
}

/* Wrappers around the environment's functions (docs/spec/redirection.md section 6): what is undefined or cannot be
 * read is told here, by the caller's line, for the C library may only copy it.
 */
#include "stubs.h"

#include "interpose/memcheck_numbers.h"
#include "interpose/wrap.h"

#define WRAP(fn) INTERPOSE_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, fn)

/* Each byte decides whether the string goes on; the first is a place of its own, as in Valgrind's reports.  A macro,
 * not a function, as in stubs.h. */
#define look_at_string(string)                                                                                         \
    do {                                                                                                               \
        const char *at_ = (string);                                                                                    \
        if (at_ && *at_) do                                                                                            \
                __asm__ volatile("incq %0" : "+r"(at_) : : "cc");                                                      \
            while (*at_);                                                                                              \
    } while (0)

PUBLIC int WRAP(putenv)(char *string) {
    InterposeOrigFn orig;
    u64 result;
    INTERPOSE_GET_ORIG_FN(orig);
    look_at_string(string);
    INTERPOSE_CALL_FN_W_W(result, orig, string);
    return (int)result;
}

PUBLIC int WRAP(setenv)(const char *name, const char *value, int overwrite) {
    InterposeOrigFn orig;
    u64 result;
    INTERPOSE_GET_ORIG_FN(orig);
    look_at_string(name);
    look_at_string(value);
    request(INTERPOSE_RQ_MC_CHECK_MEM_IS_DEFINED, (u64)&overwrite, sizeof overwrite, 0, 0, 0);
    INTERPOSE_CALL_FN_W_WWW(result, orig, name, value, overwrite);
    return (int)result;
}

PUBLIC int WRAP(unsetenv)(const char *name) {
    InterposeOrigFn orig;
    u64 result;
    INTERPOSE_GET_ORIG_FN(orig);
    look_at_string(name);
    INTERPOSE_CALL_FN_W_W(result, orig, name);
    return (int)result;
}

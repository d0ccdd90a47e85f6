/* A wrapped user of malloc, a wrapper that uses malloc, and one that wraps a function of libc. */
#include <stdlib.h>
#include <string.h>
#include "header.h"
NOINLINE char *copy_of(const char *s) { return strcpy((char *)malloc(strlen(s) + 1), s); }
char *I_WRAP_SONAME_FNNAME_ZU(NONE, copy_of)(const char *s) {
    char *result, *other;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    other = (char *)malloc(100);
    strcpy(other, "wrapped ");
    strcat(other, s);
    CALL_FN_W_W(result, fn, other);
    free(other);
    return result;
}
char *I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, getenv)(const char *name) {
    char *result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, name);
    return strcmp(name, "WRAP_TEST") == 0 && !result ? (char *)"wrapped" : result;
}
int main(void) {
    char *a = copy_of("one"), *b = copy_of("two");
    char *env = getenv("WRAP_TEST");
    printf("%s, %s, %s\n", a, b, env ? env : "none");
    free(a);
    free(b);
    return 0;
}

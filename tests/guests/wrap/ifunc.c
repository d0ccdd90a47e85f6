/* Indirect functions: the program's own, called directly and by address, and those of libc. */
#include <string.h>
#include "header.h"
static int lengths;
static int one(int x) { return x + 1; }
static int two(int x) { return x + 2; }
static void *choose_first(void) { return (void *)one; }
static void *choose_second(void) { return (void *)two; }
int first(int) __attribute__((ifunc("choose_first")));
int second(int) __attribute__((ifunc("choose_second")));
int I_WRAP_SONAME_FNNAME_ZU(NONE, first)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result * 10;
}
size_t I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, strlen)(const char *s) {
    size_t result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    lengths++;
    CALL_FN_W_W(result, fn, s);
    return result + (s[0] == '#' ? 1000 : 0);
}
void *I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, memset)(void *p, int c, size_t n) {
    void *result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WWW(result, fn, p, c == 'a' ? 'b' : c, n);
    return result;
}
int main(void) {
    int (*volatile by_address)(int) = first;
    size_t (*volatile length)(const char *) = strlen;
    void *(*volatile set)(void *, int, size_t) = memset;
    char text[8] = "";
    printf("%d %d %d\n", first(1), by_address(2), second(1));
    set(text, 'a', 5);
    size_t n = length("#hello");
    printf("%zu %s %d\n", n, text, lengths > 0);
    return 0;
}

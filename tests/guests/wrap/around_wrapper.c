/* A malloc tracer: its wrappers allocate, print and call one another's functions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "header.h"
static int inside, counts[6];
static OrigFn of_malloc;
static void note(const char *what, size_t n) {
    char *text;
    if (inside++ == 0 && n == 1234) {
        text = (char *)malloc(100); /* wrapped itself */
        strcpy(text, what);
        printf("%s of %d\n", text, (int)n); /* allocates */
        free(text);
    }
    inside--;
}
void *I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, malloc)(size_t n) {
    void *result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    of_malloc = fn;
    CALL_FN_W_W(result, fn, n);
    counts[0]++;
    note("malloc", n);
    return result;
}
void I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, free)(void *p) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_v_W(fn, p);
    counts[1]++;
}
void *I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, calloc)(size_t n, size_t size) {
    void *result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WW(result, fn, n, size);
    counts[2]++;
    return result;
}
void *I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, realloc)(void *p, size_t n) {
    void *result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WW(result, fn, p, n);
    counts[3]++;
    return result;
}
size_t I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, strlen)(const char *s) {
    size_t result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, s);
    counts[4]++;
    return result;
}
#ifndef NO_MEMCPY
void *I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, memcpy)(void *to, const void *from, size_t n) {
    void *result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WWW(result, fn, to, from, n);
    counts[5]++;
    return result;
}
#define COUNTED 6
#else
#define COUNTED 5
#endif
__attribute__((destructor)) static void end(void) {
    int all = 1;
    for (int i = 0; i < COUNTED; i++) all &= counts[i] > 0;
    printf("all called %d, original is malloc %d\n", all,
           of_malloc.nraddr == (unsigned long)dlsym(RTLD_DEFAULT, "malloc"));
}

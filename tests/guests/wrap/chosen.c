/* -DLIBRARY: an indirect function, which the library's own constructor calls. -DWRAPPER: goes around it. Neither: opens
 * the library, and calls. */
#ifdef LIBRARY
#include <stdio.h>
static int one(int x) { return x + 1; }
static int two(int x) { return x + 2; }
static int odd = 1;
static void *choose(void) { return odd ? (void *)one : (void *)two; }
int chosen(int x) __attribute__((ifunc("choose")));
__attribute__((constructor)) static void early(void) { printf("early %d\n", chosen(10)); }
#elif defined(WRAPPER)
#include "header.h"
int I_WRAP_SONAME_FNNAME_ZU(libchosenZdso, chosen)(int x) {
    int r;
    OrigFn f;
    VALGRIND_GET_ORIG_FN(f);
    CALL_FN_W_W(r, f, x);
    return r + 100;
}
#else
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        int (*chosen)(int) = (int (*)(int))dlsym(library, "chosen");
        printf("%d\n", chosen(i));
        dlclose(library);
    }
}
#endif

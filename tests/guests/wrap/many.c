/* Four thousand functions, some wrapped by one library and some by another, which come and go.
 * -DOBJECT: the functions; -DWRAPPER: a wrapper of those that match PATTERN; else the program, which sums up. */
#include "header.h"
#if defined OBJECT
#define F1(n) __attribute__((noipa)) int even_##n(int x) { return x + 1; } \
    __attribute__((noipa)) int odd_##n(int x) { return x + 2; }
#define F8(n) F1(n##0) F1(n##1) F1(n##2) F1(n##3) F1(n##4) F1(n##5) F1(n##6) F1(n##7)
#define F64(n) F8(n##0) F8(n##1) F8(n##2) F8(n##3) F8(n##4) F8(n##5) F8(n##6) F8(n##7)
#define F512(n) F64(n##0) F64(n##1) F64(n##2) F64(n##3) F64(n##4) F64(n##5) F64(n##6) F64(n##7)
F512(1) F512(2) F512(3) F512(4)
#elif defined WRAPPER
int I_WRAP_SONAME_FNNAME_ZZ(object1Zdso, PATTERN)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result * 1000;
}
#else
#include <dlfcn.h>
#include <stdio.h>
static void *object;
static void sum(void) {
    long sums[2] = {0, 0};
    for (int i = 0; i < 4 * 512; i++)
        for (int odd = 0; odd < 2; odd++) {
            char name[20];
            sprintf(name, "%s_%d%03o", odd ? "odd" : "even", i / 512 + 1, i % 512);
            sums[odd] += ((int (*)(int))dlsym(object, name))(0);
        }
    printf("%ld %ld\n", sums[0], sums[1]);
}
int main(int argc, char **argv) {
    object = dlopen(argv[1], RTLD_NOW);
    for (int round = 0; round < 2; round++) {
        void *even = dlopen(argv[2], RTLD_NOW), *odd = dlopen(argv[3], RTLD_NOW);
        sum();
        dlclose(even);
        sum();
        dlclose(odd);
        sum();
    }
    return 0;
}
#endif

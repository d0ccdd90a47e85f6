#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    void *m = dlopen("libm.so.6", RTLD_NOW);
    double (*f)(double) = (double (*)(double))dlsym(m, "cbrt");
    double r = f(27.0);
    dlclose(m);
    return (int)r;
}

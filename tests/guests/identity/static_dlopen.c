/* A static program that loads a library, and with it a second C library. */
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    void *m = dlopen("libm.so.6", RTLD_NOW);
    double (*cosine)(double) = m ? (double (*)(double))dlsym(m, "cos") : NULL;
    printf("%s %.1f\n", m ? "loaded" : dlerror(), cosine ? cosine(0) : 0);
    return 3;
}

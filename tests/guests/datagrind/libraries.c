// Two libraries after each other, most probably at the same addresses.
#include <dlfcn.h>

volatile int marked;

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW);
        if (!library) return 1;
        ((void (*)(volatile int *))dlsym(library, "mark"))(&marked);
        dlclose(library);
    }
    return 0;
}

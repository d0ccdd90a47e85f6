/* Loads a library, calls its function, unloads it, and again; argv[1] is the library. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    for (int i = 0; i < 3; i++) {
        void *handle = dlopen(argv[1], RTLD_NOW);
        if (!handle) {
            puts(dlerror());
            return 1;
        }
        int (*twice)(int) = (int (*)(int))dlsym(handle, "twice");
        printf("%d\n", twice(i));
        dlclose(handle);
    }
    return 0;
}

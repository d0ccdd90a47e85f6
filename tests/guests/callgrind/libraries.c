/* Load and unload the libraries named, one after the other, each where the last one was; tell where. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW);
        if (!library) return 1;
        void (*entry)(void) = (void (*)(void))dlsym(library, "entry");
        entry();
        printf("%p\n", (void *)entry);
        dlclose(library);
    }
    return 0;
}

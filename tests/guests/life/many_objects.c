// Opens each of the shared objects that are named, and has what the last one's `read_freed` reads.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *object = NULL;
    for (int i = 1; i < argc; i++)
        if (!(object = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL))) return puts(dlerror()), 1;
    int (*read_freed)(void) = (int (*)(void))dlsym(object, "read_freed");
    return read_freed() & 0;
}

/* Errors in a library, and after it was closed: its block's stack has no names any more.
 * @library: closed.c
 * @build: -ldl -Wl,-rpath,@OUT@
 * @options: --leak-check=full */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

int main(void) {
    void *library = dlopen("libclosed.so", RTLD_NOW);
    if (!library)
        return 1;
    char *(*make)(int) = (char *(*)(int))dlsym(library, "make_block");
    int (*look)(char *) = (int (*)(char *))dlsym(library, "look_at");
    char *p = make(6);
    volatile int sum = look(p);
    dlclose(library);
    p[6] = 1;
    p = 0;
    return 0;
}

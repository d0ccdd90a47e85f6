/* No error: a library is loaded, used and unloaded, twice.  (Sizes of what the loader allocates follow the path.)
 * @options: -q
 * @build: -ldl */
#include <dlfcn.h>
#include <stddef.h>

int main(void) {
    for (int i = 0; i < 2; i++) {
        void *lib = dlopen("libm.so.6", RTLD_NOW);
        if (!lib)
            return 1;
        double (*root)(double) = (double (*)(double))dlsym(lib, "sqrt");
        if (!root || root(16.0) != 4.0)
            return 2;
        dlclose(lib);
        if (dlsym(NULL, "no_such_function") || !dlerror())
            return 3;
    }
    return 0;
}

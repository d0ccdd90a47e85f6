/* Indirect functions that were resolved long before their wrapper comes. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static int one(int x) { return x + 1; }
static int two(int x) { return x + 2; }
static void *choose_one(void) { return (void *)one; }
static void *choose_two(void) { return (void *)two; }
__attribute__((visibility("default"))) int mine(int) __attribute__((ifunc("choose_one")));
__attribute__((visibility("default"))) int other(int) __attribute__((ifunc("choose_two")));
static void show(void) {
    size_t (*volatile length)(const char *) = strlen;
    int (*volatile by_address)(int) = mine;
    printf("%zu %d %d %d\n", length("#12345"), mine(1), by_address(2), other(3));
}
int main(int argc, char **argv) {
    show();
    void *wrapper = dlopen(argv[1], RTLD_NOW);
    if (!wrapper) return puts(dlerror()), 1;
    show();
    dlclose(wrapper);
    show();
    return 0;
}

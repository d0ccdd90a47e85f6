#define _GNU_SOURCE
#include <dlfcn.h>
int opened, closed;
static void look(void) {}
int main(void) {
    look();
    void *m = dlopen("libm.so.6", RTLD_NOW);
    look();
    void *other = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
    look();
    dlclose(other);
    dlclose(m);
    look();
    return m && other ? 4 : 0;
}

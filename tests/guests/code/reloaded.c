/* A library loaded and unloaded a thousand times, two versions of it in turn, at one address. */
// flags: -ldl
#include "code.h"
#include <dlfcn.h>

int main(void) {
    char dir[] = "/tmp/code-XXXXXX", command[512], paths[2][64];
    require(mkdtemp(dir) != NULL, dir);
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/lib%d.so", dir, i);
        snprintf(command, sizeof command,
                 "echo 'int value(int x) { return x * %d + 1; }' | gcc -shared -fPIC -O1 -x c -o %s -", i + 2, paths[i]);
        if (system(command)) return 1;
    }
    long sum = 0;
    for (int i = 0; i < 1000; i++) {
        void *h = dlopen(paths[i & 1], RTLD_NOW);
        require(h != NULL, "dlopen");
        int (*value)(int);
        *(void **)&value = dlsym(h, "value");
        sum += value(i);
        dlclose(h);
    }
    printf("%ld\n", sum);
    for (int i = 0; i < 2; i++) unlink(paths[i]);
    rmdir(dir);
    return 0;
}

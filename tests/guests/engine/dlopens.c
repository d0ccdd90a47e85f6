// flags: -ldl -rdynamic
/* Libraries made, loaded, called, unloaded and loaded changed, at the same place. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    char dir[] = "/tmp/engine-XXXXXX", cmd[512], path[128];
    if (!mkdtemp(dir)) return 1;
    long sum = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/lib.so", dir);
        snprintf(cmd, sizeof cmd, "echo 'int value(int x){return x*%d+1;}' | gcc -shared -fPIC -O1 -x c -o %s -", i + 2, path);
        if (system(cmd)) return 2;
        for (int k = 0; k < 10; k++) {
            void *h = dlopen(path, RTLD_NOW);
            int (*f)(int) = (int (*)(int))dlsym(h, "value");
            sum += f(10 + k);
            dlclose(h);
        }
        unlink(path);
        printf("%ld\n", sum);
    }
    printf("none: %d\n", dlopen("/no/such.so", RTLD_NOW) == NULL);
    rmdir(dir);
    return 0;
}

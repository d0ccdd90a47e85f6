/* Does what its arguments say: +FILE dlopen, -FILE dlclose, call, self (from inside the object). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MAX 8
static struct { const char *name; void *handle; } loaded[MAX];
static void *object(void) {
    for (int i = 0; i < MAX; i++)
        if (loaded[i].handle && strstr(loaded[i].name, "object")) return loaded[i].handle;
    return RTLD_DEFAULT;
}
int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (*word == '+') {
            int k = 0;
            while (loaded[k].handle) k++;
            loaded[k].name = word + 1;
            loaded[k].handle = dlopen(word + 1, RTLD_NOW);
            if (!loaded[k].handle) return printf("%s\n", dlerror()), 1;
        } else if (*word == '-') {
            for (int k = 0; k < MAX; k++)
                if (loaded[k].handle && !strcmp(loaded[k].name, word + 1)) {
                    dlclose(loaded[k].handle);
                    loaded[k].handle = NULL;
                    break;
                }
        } else if (!strcmp(word, "call")) {
            int (*f)(int) = (int (*)(int))dlsym(object(), "function1");
            printf("%d\n", f(4));
        } else {
            int (*f)(int, int) = (int (*)(int, int))dlsym(object(), "call_function1");
            printf("%d\n", f(4, atoi(word)));
        }
    }
    return 0;
}

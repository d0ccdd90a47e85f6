/* A library that is closed before a fork and in the child: what it does there when it is loaded once more is told.
 * @library: closed.c
 * @build: -ldl -Wl,-rpath,@OUT@
 * @options: --keep-debuginfo=yes -s */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int use(void) {
    void *library = dlopen("libclosed.so", RTLD_NOW);
    if (!library) return 1;
    char *(*make)(int) = (char *(*)(int))dlsym(library, "make_block");
    int (*look)(char *) = (int (*)(char *))dlsym(library, "look_at");
    char *p = make(6);
    p[2] = 0;
    volatile int sum = look(p);
    dlclose(library);
    free(p);
    return sum & 0;
}

int main(void) {
    int status = use();
    pid_t pid = fork();
    for (int i = 0; i < 2; i++) status |= use();
    if (!pid) _exit(status);
    waitpid(pid, &status, 0);
    return status;
}

/* A process with leaks, and a child with its own. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *keep;

static void *__attribute__((noinline)) leak(int n) { return malloc(n); }

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "fork-first")) { /* before anything of the heap's was asked for */
        if (!fork()) {
            leak(30);
            exit(0);
        }
        wait(0);
    }
    leak(10);
    keep = leak(20);
    if (!strcmp(how, "fork") && !fork()) {
        leak(30);
        exit(0);
    }
    if (!strcmp(how, "fork-exec") && !fork()) {
        leak(30);
        execl(argv[0], argv[0], NULL);
    }
    if (!strcmp(how, "term") && !fork()) {
        leak(30);
        raise(SIGTERM);
    }
    if (!strcmp(how, "grandchild") && !fork()) {
        leak(30);
        if (!fork()) {
            leak(50);
            _exit(0);
        }
        wait(0);
        raise(SIGTERM);
    }
    if (!strcmp(how, "vfork-exec") && !vfork()) {
        execl(argv[0], argv[0], NULL);
        _exit(1);
    }
    if (!strcmp(how, "exec")) {
        leak(60);
        execl(argv[0], argv[0], NULL);
    }
    if (!strcmp(how, "fork-lost") && !fork()) {
        keep = 0;
        free(malloc(5));
        exit(0);
    }
    wait(0);
    leak(40);
    return 0;
}

/* PR_SET_MDWE with PR_MDWE_NO_INHERIT (Linux 6.6): no writable code in this process, but in its children. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *who) {
    void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%s: %s", who, m == MAP_FAILED ? strerror(errno) : "mapped");
    m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf(", %s\n", mprotect(m, 4096, PROT_READ | PROT_EXEC) ? strerror(errno) : "made");
    fflush(stdout);
}

int main(void) {
    printf("set %d\n", prctl(65, 3, 0, 0, 0));
    fflush(stdout);
    tell("parent");
    pid_t child = fork();
    if (child == 0) {
        printf("inherited %d\n", prctl(66, 0, 0, 0, 0));
        tell("child");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    tell("parent");
    return 0;
}

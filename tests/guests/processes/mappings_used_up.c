/* exit: 5 */
/* A program that has all mappings that the kernel allows still forks, and executes another one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul

static void execute_in(pid_t child, char **next, const char *how) {
    int status;
    if (child == 0) {
        execv(next[0], next);
        _exit(99);
    }
    waitpid(child, &status, 0);
    printf("%s: %x\n", how, status);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        printf("%s\n", argv[1]);
        return 5;
    }
    char *next[] = {argv[0], "executed", NULL};
    setvbuf(stdout, NULL, _IOLBF, 4096);
    puts("begin");
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    unsigned long most = 0;
    if (!file || fscanf(file, "%lu", &most) != 1) return 1;
    fclose(file);
    char *p = mmap(NULL, most * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned long n = 0;
    while (n < most / 2 && mprotect(p + 2 * n * PAGE, PAGE, PROT_READ) == 0) n++;
    int error = errno;
    printf("%s: %d\n", strerror(error), n > most / 2 - 200);
    int status;
    pid_t child = fork();
    if (child == 0) _exit(p[PAGE] + 7);
    waitpid(child, &status, 0);
    printf("forked: %x\n", status);
    execute_in(vfork(), next, "executed in a child of vfork");
    execute_in(fork(), next, "executed in a child");
    execv(argv[0], next);
    return 99;
}

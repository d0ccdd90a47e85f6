// errors: yes
/* A program that takes away its own code, its stack or everything dies of SIGSEGV at the next instruction. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOP 0x7ffffffff000ul

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int how = 0; how < 4; how++) {
        pid_t p = fork();
        if (p == 0) {
            unsigned long here = (unsigned long)&p & -4096ul;
            switch (how) {
            case 0: munmap((void *)0, TOP); break;
            case 1: munmap((void *)0x1000, TOP - 0x2000); break;
            case 2: munmap((void *)(here - 8192), 16384); break;
            case 3: mprotect((void *)(here - 8192), 16384, PROT_NONE); break;
            }
            _exit(3);
        }
        int st;
        waitpid(p, &st, 0);
        printf("%d: %s %d\n", how, WIFEXITED(st) ? "exit" : "signal", WIFEXITED(st) ? WEXITSTATUS(st) : WTERMSIG(st));
    }
    return 0;
}

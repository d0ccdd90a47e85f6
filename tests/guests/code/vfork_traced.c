/* As a debugger begins its program: vfork, and the child asks to be traced and executes. The debugger's own code is
 * changed afterwards, by itself. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*answer)(void) = (int (*)(void))code;
    memcpy(code, "\xb8\x01\x00\x00\x00\xc3", 6); /* mov $1, %eax; ret */
    printf("before: %d\n", answer());
    int pid = vfork(), status, stops = 0;
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execl("/bin/true", "true", NULL);
        _exit(127);
    }
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        stops++;
        ptrace(PTRACE_CONT, pid, 0, 0);
    }
    code[1] = 2;
    printf("%d stop, exit %d, after: %d\n", stops, WEXITSTATUS(status), answer());
    return 0;
}

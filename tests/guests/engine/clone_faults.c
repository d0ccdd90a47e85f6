/* Processes on the same memory whose ids and stacks lie where nothing can be read: ids without memory, a stack with a
 * closed page at its lower end, which was written before, one that reaches below what is open. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096ul
#define STACK (1024 * PAGE)

static int child(void *arg) { return (int)(intptr_t)arg; }

static void end(const char *what, int pid) {
    int status = 0;
    if (pid < 0) {
        printf("%s: %s\n", what, strerror(errno));
        return;
    }
    waitpid(pid, &status, 0);
    printf("%s: exit %d signal %d\n", what, WEXITSTATUS(status), WTERMSIG(status));
}

/* A process on the same memory, with a stack whose extent is told: it ends at once. */
static int on_stack(char *low, unsigned long size) {
    struct clone_args args = {
        .flags = CLONE_VM, .exit_signal = SIGCHLD, .stack = (uint64_t)low, .stack_size = size};
    long r;
    __asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\tpush $3\n\tpop %%rdi\n\tmov %3, %%eax\n\tsyscall\n1:"
                     : "=a"(r)
                     : "0"((long)SYS_clone3), "D"(&args), "i"(SYS_exit), "S"(sizeof args)
                     : "rcx", "r11", "memory");
    if (r < 0) errno = (int)-r;
    return r < 0 ? -1 : (int)r;
}

/* The same, without its extent. */
static int at_sp(char *sp) {
    register long none __asm__("r10") = 0;
    long r;
    __asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\tmov $4, %%edi\n\tmov %4, %%eax\n\tsyscall\n1:"
                     : "=a"(r)
                     : "0"((long)SYS_clone), "D"((long)(CLONE_VM | SIGCHLD)), "S"(sp), "i"(SYS_exit), "d"(0l), "r"(none)
                     : "rcx", "r11", "r8", "memory");
    return (int)r;
}

int main(void) {
    char *stack = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *nothing = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *closed = mmap(0, 4 * STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    munmap(nothing, STACK);
    end("ids nowhere", clone(child, stack + STACK, CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD,
                             (void *)(intptr_t)5, nothing, NULL, nothing));
    end("fork's ids nowhere", (int)syscall(SYS_clone, CLONE_PARENT_SETTID | SIGCHLD, 0, nothing, nothing, 0) ?: (_exit(6), 0));
    memset(stack, 1, PAGE);
    mprotect(stack, PAGE, PROT_NONE);
    end("closed page", on_stack(stack, STACK));
    mprotect(closed + 3 * STACK, STACK, PROT_READ | PROT_WRITE);
    end("closed below", on_stack(closed, 4 * STACK));
    end("closed", at_sp(closed + STACK));
    end("none", at_sp(nothing + STACK / 2));
    return 0;
}

/* An alternate stack in a mapping: what is given back there by a move to RSP is no root of the leak search.
 * @options: --leak-check=full */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SIZE 65536

static void *volatile kept;

/* RSP goes down for a block of its own and comes back by a move, as the dynamic linker's look-up of a function does. */
__attribute__((noinline)) static void leave_there(void *p) {
    __asm__ volatile("mov %%rsp, %%rbx\n"
                     "sub $512, %%rsp\n"
                     "mov %0, (%%rsp)\n"
                     "mov %%rbx, %%rsp\n"
                     :
                     : "r"(p)
                     : "rbx", "memory");
}

static void handle(int number) {
    (void)number;
    leave_there(kept);
    kept = NULL;
}

int main(void) {
    stack_t stack = {.ss_sp = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), .ss_size = SIZE};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL)) return 1;
    kept = malloc(61);
    raise(SIGUSR1);
    return 0;
}

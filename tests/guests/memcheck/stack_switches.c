/* RSP visits an unregistered stack again and again: told three times; a registered one and the alternate
 * signal stack are no question.
 * @options: --leak-check=no */
#include <signal.h>
#include <stdlib.h>
#include <valgrind/valgrind.h>

static void visit(char *top) {
    __asm__ volatile("mov %%rsp,%%rbx\n\t"
                     "mov %0,%%rsp\n\t"
                     "push %%rbx\n\t"
                     "pop %%rbx\n\t"
                     "mov %%rbx,%%rsp"
                     :
                     : "r"(top)
                     : "rbx", "memory");
}

static void handler(int number) { (void)number; }

int main(void) {
    char *registered = malloc(10000000), *alternate = malloc(65536), *unknown = malloc(10000000);
    VALGRIND_STACK_REGISTER(registered, registered + 10000000);
    visit(registered + 9000000);
    visit(registered + 3000000);
    stack_t stack = {.ss_sp = alternate, .ss_size = 65536};
    sigaltstack(&stack, 0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
    for (int i = 0; i < 5; i++)
        visit(unknown + 9000000 - i * 4096);
    return 0;
}

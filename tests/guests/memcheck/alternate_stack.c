/* Errors in a handler on an alternate stack, in the program's heap; and a jump out of it.
 * @options: --leak-check=full */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf back;
static char *block;

static void handler(int number) {
    char local[64];
    if (local[number]) /* undefined, on that stack */
        block[8] = 1;
    block[9] = 1;
    siglongjmp(back, 1);
}

int main(void) {
    stack_t stack = {.ss_size = 32768};
    struct sigaction action;
    block = malloc(8);
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, 0);
    for (volatile int i = 0; i < 3; i++)
        if (!sigsetjmp(back, 1))
            raise(SIGUSR1);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, 0);
    free(stack.ss_sp);
    free(block);
    return 0;
}

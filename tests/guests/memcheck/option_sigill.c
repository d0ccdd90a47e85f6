/* An instruction that does not exist, without a word about it.
 * @options: --sigill-diagnostics=no --trace-redir=no --trace-sched=no --vgdb=no --vgdb-error=99999 --vgdb-stop-at=none */
#include <stdlib.h>
int main(void) {
    char *p = malloc(7);
    __asm__ volatile("ud2");
    return 0;
}
